"""The one kind of record: question, data, settings, values of seeds, intervals, commit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.evidence.study import Job, Study, jobs_of
from benchmarks.report import RESULTS, mean_and_margin

SCHEMA = 1
GENERATED = "made by the study"  # instead of a checksum
KEYS = ("schema", "study", "question", "command", "data", "settings", "rows", "machine")


def checksum(folder: Path) -> str:
    """One checksum of all files of a data set."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        total.update(path.name.encode())
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return f"sha256:{total.hexdigest()}"


def record_of(study: Study, data: str, checksums: str, found: Mapping[Job, Any]) -> dict[str, Any]:
    """The record of one study on one data set.

    Parameters
    ----------
    study : Study
    data : str
        Name of the data set.
    checksums : str
    found : dict
        What `queue.do` stored of each job.
    """
    rows = {
        row: row_of(study.rows[row], [one for job, one in found.items() if job.row == row])
        for row in study.rows
        if any(job.row == row for job in found)
    }
    runs = list(found.values())
    machine = {k: v for k, v in runs[0]["machine"].items() if k not in ("commit", "load_before")}
    return {
        "schema": SCHEMA,
        "study": study.name,
        "question": study.question,
        "command": f"python -m benchmarks.evidence run {study.name} --data ../shared/data/{data}",
        "data": {data: checksums},
        "settings": study.settings(data),
        "rows": rows,
        "card": runs[0]["card"],
        "machine": {**machine, "commits": sorted({str(run["machine"]["commit"]) for run in runs})},
    }


def row_of(settings: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Measures of a row over its seeds; +/- is the half-width of a 95% t-interval over seeds."""
    measures = {}
    for name in runs[0]["values"]:
        values = [run["values"][name] for run in runs]
        mean, margin = mean_and_margin(values)
        measures[name] = {"values": values, "mean": mean, "margin": margin}
    return {
        "settings": dict(settings),
        "seeds": [run["seed"] for run in runs],
        "seconds": [run["seconds"] for run in runs],
        "measures": measures,
    }


def gather(folder: Path, data: Path, studies: Iterable[Study]) -> list[Path]:
    """Make records of all that `queue` stored in a folder; returns their paths."""
    paths = []
    for study in studies:
        for name in study.data:
            jobs = {job: folder / job.file_name for job in jobs_of(study, name)}
            found = {
                job: json.loads(path.read_text()) for job, path in jobs.items() if path.exists()
            }
            if found:
                source = GENERATED if name in study.generated else checksum(data / name)
                record = record_of(study, name, source, found)
                paths.append(RESULTS / f"{study.name}-{name}.json")
                paths[-1].write_text(json.dumps(record, indent=1) + "\n")
    return paths


def problems(record: Mapping[str, Any]) -> list[str]:
    """What is missing for a record to be evidence; empty if nothing is."""
    found = [f"no {key}" for key in KEYS if not record.get(key)]
    commits = record.get("machine", {}).get("commits", [])
    if not commits:
        found.append("no commit")
    found += [f"commit {c}" for c in commits if c == "None" or c.endswith("+")]
    for name, row in record.get("rows", {}).items():
        for measure, one in row["measures"].items():
            if len(one["values"]) != len(row["seeds"]):
                found.append(f"{name}: {measure} has not a value for each seed")
    return found
