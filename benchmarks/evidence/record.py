"""Records of studies: what their runs measured, as rows of seeds.

A record grows: what another run adds joins the rows and seeds that are there, unless data or
settings have changed since.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.evidence.study import Job, Study, jobs_of
from benchmarks.report import RESULTS
from benchmarks.report.rows import measured
from benchmarks.report.storing import checksum, record_of, written

GENERATED = "made by the study"  # instead of a checksum


def study_record(
    study: Study, data: str, checksums: str, found: Mapping[Job, Any]
) -> dict[str, Any]:
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
    jobs = sorted(found, key=lambda job: job.seed)
    rows = {
        row: row_of(study.rows[row], [found[job] for job in jobs if job.row == row])
        for row in study.rows
        if any(job.row == row for job in jobs)
    }
    runs = list(found.values())
    left_out = ("commit", "load_before")
    machine = {k: v for k, v in runs[0]["machine"].items() if k not in left_out}
    return record_of(
        study.name,
        rows,
        data={data: checksums},
        settings=study.settings(data),
        question=study.question,
        command=f"python -m benchmarks.evidence run {study.name} --data ../shared/data/{data}",
        card=runs[0]["card"],
        machine=machine | {"commits": sorted({c for run in runs for c in commits_of(run)})},
    )


def commits_of(run: Mapping[str, Any]) -> list[str]:
    """The commit of a run, or those of the record that it stands in."""
    machine = run["machine"]
    return machine["commits"] if "commits" in machine else [str(machine["commit"])]


def row_of(settings: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Measures of a row over its seeds; +/- is the half-width of a 95% t-interval over seeds."""
    names = runs[0]["values"]
    measures = {name: measured([run["values"][name] for run in runs]) for name in names}
    return {
        "settings": dict(settings),
        "seeds": [run["seed"] for run in runs],
        "seconds": [run["seconds"] for run in runs],
        "measures": measures,
    }


def stored_runs(
    studies: Iterable[Study], results: Path = RESULTS, *, source: Path | None = None
) -> dict[str, Any]:
    """What records hold of runs, as `queue.do` stored them, by the names of their files.

    Parameters
    ----------
    studies : list of Study
    results : path
        Folder of records.
    source : path, optional
        The folder of all data sets: records of other data are left out. By default none is.
    """
    found = {}
    for study in studies:
        for data in study.data:
            path = results / f"{study.name}-{data}.json"
            record = json.loads(path.read_text()) if path.exists() else {}
            if record.get("settings") != plain(study.settings(data)):
                continue
            if source is not None and record["data"][data] != data_checksum(study, data, source):
                continue
            for job in jobs_of(study, data):
                if run := run_of(job, record):
                    found[job.file_name] = run
    return found


def run_of(job: Job, record: Mapping[str, Any]) -> dict[str, Any] | None:
    """One seed of one row of a record; None if it is not there, or had other settings."""
    row = record["rows"].get(job.row)
    if row is None or job.seed not in row["seeds"]:
        return None
    stored, asked = row["settings"], plain(job.study.rows[job.row])
    if stored != asked and job.study.meaning(job.data, stored) != job.study.meaning(
        job.data, asked
    ):
        return None
    place = row["seeds"].index(job.seed)
    return {
        "data": job.data,
        "settings": job.settings,
        "seed": job.seed,
        "values": {name: one["values"][place] for name, one in row["measures"].items()},
        "seconds": row["seconds"][place],
        "card": record["card"],
        "machine": record["machine"],
    }


def plain(settings: Mapping[str, Any]) -> Any:
    """Settings as a record has them: JSON knows lists alone."""
    return json.loads(json.dumps(settings))


def data_checksum(study: Study, data: str, source: Path) -> str:
    """Of a data set in the folder of all."""
    return GENERATED if data in study.generated else checksum(source / data)


def gather(
    folder: Path, source: Path, studies: Sequence[Study], *, results: Path = RESULTS
) -> list[Path]:
    """Make or complete records of what `queue` stored in a folder; returns their paths.

    Parameters
    ----------
    folder : path
        Where `queue` stored it.
    source : path
        The folder of all data sets.
    studies : list of Study
    results : path
        Folder of records.
    """
    stored = stored_runs(studies, results, source=source)
    paths = []
    for study in studies:
        for data in study.data:
            files = {job: folder / job.file_name for job in jobs_of(study, data)}
            new = {job: json.loads(p.read_text()) for job, p in files.items() if p.exists()}
            if not new:
                continue
            # What the record has itself comes first: that of other studies may be of older code.
            known_here = stored | stored_runs([study], results, source=source)
            known = {job: known_here[job.file_name] for job in files if job.file_name in known_here}
            record = study_record(study, data, data_checksum(study, data, source), known | new)
            paths.append(written(record, results / f"{study.name}-{data}.json"))
    return paths
