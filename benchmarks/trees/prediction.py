"""How fast do tree models predict? ``python -m benchmarks.trees.prediction --data DIR --keep DIR``.

The prediction part of `benchmarks.trees` by itself: XRLinear, the same under ``Disentangled`` at
overlap 2, and libpecos (HASH_CHUNKED, its fastest layout), with the settings of
`benchmarks.trees`, seed 0. Models are trained first, untimed, and kept in a folder, so that a
second run only predicts. Every prediction has a fresh process; contestants take turns, and ratios
are taken round by round.

- ``batch_seconds``, ``batch_cpu_seconds``: all test instances at once;
- ``online_p50_ms``: median of single instances, from Python, one thread;
- ``peak_mb``: peak memory of the whole process that loads and predicts.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from benchmarks.peers import version_of
from benchmarks.report import finish, rows_of, show_rows
from benchmarks.trees.__main__ import of_prediction
from benchmarks.trees.arena import OVERLAP, XR_LINEAR, Arena
from benchmarks.trees.data import export
from benchmarks.trees.trials import OURS

PECOS = "pecos"


def train(source: Path, folder: Path, n_jobs: int) -> None:
    """Export the data and train all contestants, where that was not done before."""
    if not (folder / "X_test.npz").exists():
        folder.mkdir(parents=True, exist_ok=True)
        export(source, folder, as_text=False)
    arena = Arena(folder, n_jobs, rounds=1, seeds=1)
    for who in (OURS, OVERLAP, PECOS):
        if not arena.model_of(who).exists():
            arena.train_once(who, XR_LINEAR, 0)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.trees.prediction",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="data folders")
    parser.add_argument("--keep", type=Path, required=True, help="folder for data and models")
    parser.add_argument("--rounds", type=int, default=3, help="predictions of each contestant")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--online", type=int, default=1000, help="single instances")
    parser.add_argument("--train-only", action="store_true", help="prepare a run that predicts")
    parser.add_argument("--no-store", action="store_true", help="only print")
    given = parser.parse_args(arguments)
    results: dict[str, Any] = {}
    for source in given.data:
        folder = given.keep / source.name
        train(source, folder, given.threads)
        if given.train_only:
            continue
        arena = Arena(folder, given.threads, given.rounds, 1)
        answers = arena.predict((OURS, OVERLAP, PECOS), n_online=given.online, repeats=5)
        found = {who: of_prediction(own) for who, own in answers.items()}
        results[source.name] = {"prediction": found}
        show_rows(source.name, rows_of(found))
    if not given.train_only:
        settings = {"n_threads": given.threads, "peers": {PECOS: version_of(PECOS)}}
        rows = rows_of(results)
        finish("trees-prediction", rows, settings=settings, store=not given.no_store)


if __name__ == "__main__":
    main()
