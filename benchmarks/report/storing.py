"""The record of a benchmark that is no study: results, question, command, data, machine, commit."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import ROOT, signature

RESULTS = ROOT / "benchmarks" / "results"
DATA_OPTION = "--data"


def finish(name: str, results: dict[str, Any], *, store: bool) -> None:
    """Store the results with what they were measured by and on, and print them as the last line."""
    record = {"benchmark": name, "results": results, **signature()}
    if data := checksums(sys.argv[1:]):
        record["data"] = data
    if store:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{name}.json"
        path.write_text(json.dumps(record, indent=2) + "\n")
        print(f"stored in {path.relative_to(ROOT)}")
    print(json.dumps(record))


def checksums(arguments: Sequence[str]) -> dict[str, str]:
    """Name and checksum of each data folder that a command line names after ``--data``."""
    from benchmarks.evidence.record import checksum  # which itself needs this package

    return {folder.name: checksum(folder) for folder in data_folders(arguments)}


def data_folders(arguments: Sequence[str]) -> list[Path]:
    """The folders among the values of ``--data``, which may have several, or be ``--data=DIR``."""
    found, is_data = [], False
    for argument in arguments:
        option, _, value = argument.partition("=")
        if argument.startswith("-"):
            is_data = option == DATA_OPTION
        else:
            value = argument
        if is_data and value and Path(value).is_dir():
            found.append(Path(value).resolve())
    return found
