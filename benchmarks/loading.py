"""How long does it take to load a stored model? In seconds per gigabyte, files in the page cache.

A tree of a million labels is generated, saved and loaded: for the first time, when every file is
compared with its checksum and the contents are checked; again, when that is remembered; verified by
SHA-256; read into memory instead of mapped; and from a manifest of the first format, which has
SHA-256 alone. "checks" is `read_state`, which ends before the object is built.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.report import finish, rows_of, show
from benchmarks.stored_checks import tree_state
from multitudes import load, save
from multitudes.files import cache
from multitudes.store import read_manifest, read_state
from multitudes.store.manifest import _checksum

WAYS: dict[str, dict[str, Any]] = {
    "first": {},
    "remembered": {},
    "verified": {"verify": True},
    "in memory, first": {"in_memory": True},
    "in memory, remembered": {"in_memory": True},
    "first, of format 1": {},
}


def seconds_of(run: Callable[[], object], rounds: int, *, first: bool) -> float:
    """The fastest of some rounds; the models that are remembered are forgotten before a first."""
    taken = []
    for _ in range(rounds):
        if first:
            forget()
        else:
            run()
        start = time.perf_counter()
        found = run()
        taken.append(time.perf_counter() - start)
        del found
    return min(taken)


def forget() -> None:
    """Remove what is remembered."""
    folder = Path(os.environ[cache.VARIABLE]) / "checked-models"
    for mark in folder.glob("*") if folder.exists() else ():
        mark.unlink()


def as_first_format(model: Path) -> None:
    """Write the manifest as the first format had it."""
    content = json.loads((model / "manifest.json").read_bytes())
    del content["checksum"]
    content["format_version"] = 1
    for entry in content["files"].values():
        del entry["xxh3_64"]
    content["checksum"] = _checksum(content)
    (model / "manifest.json").write_text(json.dumps(content))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=1.2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-store", action="store_true", help="do not keep the results")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ[cache.VARIABLE] = str(Path(folder) / "cache")
        model = Path(folder) / "model"
        start = time.perf_counter()
        save(tree_state(options.gigabytes), model)
        size = sum(entry.n_bytes for entry in read_manifest(model).files.values()) / 1e9
        made = time.perf_counter() - start
        time.sleep(4)  # younger files are not remembered
        load(model)  # compiles
        for name, how in WAYS.items():
            if "format 1" in name:
                as_first_format(model)
            ways = {"checks": partial(read_state, model, contents=True, **how)}
            ways["load"] = partial(load, model, **how)
            results[name] = {
                column: seconds_of(run, options.rounds, first="first" in name) / size
                for column, run in ways.items()
            }
    rows = [[name, *(f"{value:.3f}" for value in one.values())] for name, one in results.items()]
    show(f"Seconds per gigabyte ({size:.2f} GB)", ["", "checks", "load"], rows)
    settings = {"gigabytes": size, "rounds": options.rounds, "seconds_to_make_and_save": made}
    finish("loading", rows_of(results), settings=settings, store=not options.no_store)


if __name__ == "__main__":
    main()
