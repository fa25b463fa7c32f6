"""Change lines of the library, one at a time: a test should fail.

``python -m campaigns.mutants --mutants 160 --seed 1``
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import campaigns  # noqa: F401 - sets the threads of linear algebra before numpy is imported
from campaigns.mutants.making import sample
from campaigns.mutants.packages import PACKAGES, ROOT
from campaigns.mutants.record import store
from campaigns.mutants.running import judge_package
from campaigns.mutants.session import load_what_is_not_mutated

JOURNAL = ROOT / "tmp" / "mutants"


def main() -> int:
    """Judge a sample of mutants of each package; what was judged before is not judged again."""
    given = _parser().parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    load_what_is_not_mutated()
    for name in given.only or PACKAGES:
        package = PACKAGES[name]
        mutants = sample(package.files(), given.mutants, given.seed)
        judge_package(package, mutants, given.folder / f"{name}.jsonl")
    if given.output:
        store(given.folder, given.output, seed=given.seed, number=given.mutants)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m campaigns.mutants")
    add = parser.add_argument
    add("--mutants", type=int, default=160, help="how many of each package; one of a line at most")
    add("--seed", type=int, default=1)
    add("--only", action="append", choices=PACKAGES, help="packages; all by default")
    add("--folder", type=Path, default=JOURNAL, help="where the journals are, to go on from")
    add("--output", type=Path, help="where the record goes, of packages that are done")
    return parser


if __name__ == "__main__":
    sys.exit(main())
