"""Trainings of one model side by side on one GPU, with batch sizes and learning rates of their own.

    python -m benchmarks.seq2set.side_by_side --out RESULTS EURLEX:25:64:1e-3:0
    python -m benchmarks.seq2set.side_by_side EURLEX:25:256:3e-3:0:training.warmup_steps=60

A job is a folder that ``benchmarks.seq2set --prepare`` wrote, epochs, batch size, learning rate and
seed, and maybe further settings. Each is a process of `benchmarks.seq2set`; its speed means
nothing, because they share the card. What has ended is stored at once, and none goes on after
``--seconds``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import card_name
from benchmarks.report import rows_of_runs
from benchmarks.report.rows import BETWEEN, SEED
from benchmarks.report.storing import checksum, record_of, written

KEPT = ("seconds", "scheme", "n_steps", "best_epoch")
PARTS = ("validation", "test")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("jobs", nargs="+", help="FOLDER:EPOCHS:BATCH:RATE:SEED[:SETTING=VALUE...]")
    parser.add_argument("--contestant", default="otseq2set")
    parser.add_argument("--out", default="tmp/seq2set")
    parser.add_argument("--name", default="seq2set-batch-size")
    parser.add_argument("--validate-every", type=int, default=5, help="epochs")
    parser.add_argument("--seconds", type=float, default=1e9)
    given = parser.parse_args()
    out = Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    begin, runs = time.perf_counter(), {}
    with tempfile.TemporaryDirectory() as folder:
        running = {job: started(job, given, Path(folder)) for job in given.jobs}
        while running and time.perf_counter() - begin < given.seconds:
            for job in [job for job, process in running.items() if process.poll() is not None]:
                del running[job]
                runs[name_of(job)] = run = result(job, Path(folder))
                print(f"{name_of(job)}: {json.dumps(run)[:400]}", flush=True)
                store(out / f"{given.name}.json", given, runs)
            time.sleep(0.5)
        for job, process in running.items():
            process.kill()
            print(f"{name_of(job)}: not done", flush=True)


def name_of(job: str) -> str:
    """What a run is called: the data's name, the settings, and the seed."""
    data, epochs, batch, rate, seed, *changes = job.split(":")
    return ":".join([Path(data).name, epochs, batch, rate, *changes]) + f"{SEED}{seed}"


def folder_of(job: str) -> Path:
    """Where its data lies."""
    return Path(job.partition(":")[0])


def started(job: str, given: argparse.Namespace, folder: Path) -> subprocess.Popen[bytes]:
    """The process of a job."""
    data, epochs, batch, rate, seed, *changes = job.split(":")
    command = [
        sys.executable, "-m", "benchmarks.seq2set", "--data", data, "--out", str(folder),
        "--name", file_of(job), "--epochs", epochs, "--batch-size", batch, "--learning-rate", rate,
        "--first-seed", seed, "--compile", "graphs", "--validate-every", str(given.validate_every),
        "--contestants", given.contestant, *(["--set", *changes] if changes else []),
    ]  # fmt: skip
    log = (folder / f"{file_of(job)}.log").open("wb")
    own = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=own)


def file_of(job: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in job)


def result(job: str, folder: Path) -> dict[str, Any]:
    """What a process has stored, or its last words."""
    try:
        record = json.loads((folder / f"{file_of(job)}.json").read_text())
    except OSError:
        return {"error": (folder / f"{file_of(job)}.log").read_text()[-300:]}
    rows = record["rows"]
    name = next(iter(rows))
    run: dict[str, Any] = sections(rows[name])
    for part in PARTS:
        if row := rows.get(f"{name}{BETWEEN}{part}"):
            run[part] = sections(row)
    return {key: run[key] for key in (*KEPT, *PARTS) if key in run}


def sections(row: dict[str, Any]) -> dict[str, Any]:
    """What a row of one seed was made of."""
    return row["settings"] | {name: one["values"][0] for name, one in row["measures"].items()}


def store(path: Path, given: argparse.Namespace, runs: dict[str, Any]) -> None:
    settings = {"contestant": given.contestant, "validate_every": given.validate_every}
    rows = rows_of_runs({name: run for name, run in runs.items() if "error" not in run})
    data = {folder.name: checksum(folder) for folder in map(folder_of, given.jobs)}
    record = record_of(given.name, rows, data=data, settings=settings, card=card_name())
    written(record, path)


if __name__ == "__main__":
    main()
