"""The one kind of record, of studies and all other benchmarks.

A record has the question and the command that answers it, data sets with their checksums, settings,
rows (`benchmarks.report.rows`), the machine and its versions, and the commits that were measured.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import ROOT, signature
from benchmarks.report.rows import Rows, again

RESULTS = ROOT / "benchmarks" / "results"
DATA_OPTION = "--data"
SCHEMA = 1
GENERATED = {"generated": "made by the benchmark"}  # instead of data sets and their checksums
KEYS = ("schema", "study", "question", "command", "data", "settings", "rows", "machine")
ROW_KEYS = ("settings", "seeds", "measures")
CLEAN = re.compile(r"[0-9a-f]{7,40}")


def finish(
    name: str,
    rows: Rows,
    *,
    data: Sequence[Path] | None = None,
    settings: Mapping[str, Any] | None = None,
    raw: Any = None,
    store: bool,
) -> None:
    """Store rows with what they were measured by and on, and print the record as the last line.

    Parameters
    ----------
    name : str
        Of the record.
    rows : dict
        As `rows_of` makes them.
    data : list of path, optional
        Folders of data sets; by default those that the command line names after ``--data``.
    settings : dict, optional
        Of all rows.
    raw : object, optional
        What figures or other benchmarks read beside rows: curves, pieces of work.
    store : bool
        Whether the record is kept in ``benchmarks/results``.
    """
    folders = data_folders(sys.argv[1:]) if data is None else data
    sums = {folder.name: checksum(folder) for folder in folders} or GENERATED
    record = record_of(name, rows, data=sums, settings=settings, raw=raw)
    if wrong := problems(record):
        raise ValueError("; ".join(wrong))
    for lack in lacking(record):
        print(f"no evidence yet: {lack}")
    if store:
        path = written(record, RESULTS / f"{name}.json")
        print(f"stored in {path.relative_to(ROOT)}")
    print(json.dumps(record))


def record_of(
    name: str,
    rows: Rows,
    *,
    data: Mapping[str, Any],
    settings: Mapping[str, Any] | None = None,
    raw: Any = None,
    **others: Any,
) -> dict[str, Any]:
    """A record of what the running command has measured; `others` replace what would be found."""
    signed = signature() | others
    machine = dict(signed["machine"])
    commit = machine.pop("commit", None)
    record = {
        "schema": SCHEMA,
        "study": name,
        "question": signed["question"],
        "command": signed["command"],
        "data": dict(data),
        "settings": dict(settings or {}),
        "rows": rows,
        **{key: value for key, value in signed.items() if key == "card"},
        "machine": {**machine, "commits": machine.get("commits", [str(commit)])},
    }
    return record if raw is None else record | {"raw": raw}


def written(record: Mapping[str, Any], path: Path) -> Path:
    """Write a record, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return path


def checksum(folder: Path) -> str:
    """One checksum of all files of a data set."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        total.update(path.name.encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return f"sha256:{total.hexdigest()}"


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


def is_clean(record: Mapping[str, Any]) -> bool:
    """Whether it is of commits that are known and had no changes."""
    commits = record.get("machine", {}).get("commits", [])
    return bool(commits) and all(CLEAN.fullmatch(str(commit)) for commit in commits)


def lacking(record: Mapping[str, Any]) -> list[str]:
    """What is not known of how a record was made; empty if all is."""
    found = [f"no {key}" for key in ("question", "command") if not record.get(key)]
    found += [f"no checksum of {name}" for name, sum_ in record.get("data", {}).items() if not sum_]
    if not is_clean(record):
        found.append(f"commits are not clean: {record.get('machine', {}).get('commits')}")
    return found


def problems(record: Mapping[str, Any]) -> list[str]:
    """What is wrong with a record's form; empty if nothing."""
    found = [f"no {key}" for key in KEYS if key not in record]
    found += [f"no {key}" for key in ("data", "rows") if not record.get(key)]
    for name, row in record.get("rows", {}).items():
        missing = [key for key in ROW_KEYS if not isinstance(row, Mapping) or key not in row]
        found += [f"{name}: no {key}" for key in missing]
        if missing:
            continue
        for measure, one in row["measures"].items():
            n = len(one["values"])
            if "mean" in one and n not in (1, len(row["seeds"])):
                found.append(f"{name}: {measure} has not a value for each seed")
            if not n or not all(map(math.isfinite, one["values"])) or not alike(one, again(one)):
                found.append(f"{name}: {measure} is not what its values make")
    return found


def alike(one: Any, other: Any) -> bool:
    """Whether two measures are the same but for rounding."""
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
