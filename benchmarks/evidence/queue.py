"""Jobs side by side: workers take the next that nobody has, and store what they found at once."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.evidence.studies import STUDIES
from benchmarks.evidence.study import Job
from benchmarks.machine import describe

CLAIMS, JOBS = "claims", "jobs.json"


def run_side_by_side(
    jobs: Sequence[Job],
    sources: dict[str, Path],
    out: Path,
    *,
    workers: int,
    seconds: float,
    card_share: float | None = None,
) -> None:
    """Do what is not done yet; workers that are busy when the time is up are ended.

    Parameters
    ----------
    jobs : list of Job
        In the order of their importance.
    sources : dict of path
        Folders of data sets by name.
    out : path
        Folder for results; what is there is not done again.
    workers : int
        Processes.
    seconds : float
        For all of it.
    card_share : float, optional
        Part of a GPU's memory that each worker may take.
    """
    claims = out / CLAIMS
    claims.mkdir(parents=True, exist_ok=True)
    for claim in claims.iterdir():  # of workers that were ended
        claim.unlink()
    listed = [[job.study.name, job.data, job.row, job.seed, str(sources[job.data])] for job in jobs]
    (out / JOBS).write_text(json.dumps(listed))
    command = [sys.executable, "-m", "benchmarks.evidence", "work", str(out)]
    command += [] if card_share is None else ["--card-share", str(card_share)]
    running = []
    for number in range(workers):
        log = (out / f"worker-{number}.log").open("ab")
        running.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT))
    end = time.monotonic() + seconds
    waited = [job for job in jobs if not (out / job.file_name).exists()]
    while any(one.poll() is None for one in running) and time.monotonic() < end:
        time.sleep(0.5)
        waited = [job for job in waited if not told(job, out)]
    for one in running:
        one.kill()
    waited = [job for job in waited if not told(job, out)]
    print(f"{len(jobs) - len(waited)} of {len(jobs)} jobs done", flush=True)


def told(job: Job, out: Path) -> bool:
    """Whether a job is done; then what it found is printed."""
    path = out / job.file_name
    if not path.exists():
        return False
    found = json.loads(path.read_text())
    values = ", ".join(f"{key} {value:.2f}" for key, value in found["values"].items())
    print(f"{job}: {found['seconds']:.0f} s, {values[:160]}", flush=True)
    return True


def work(out: Path, *, card_share: float | None = None) -> None:
    """Take jobs of a folder until none is left."""
    if card_share is not None:
        import torch

        torch.cuda.set_per_process_memory_fraction(card_share)
    jobs = [
        (Job(STUDIES[study], data, row, seed), Path(source))
        for study, data, row, seed, source in json.loads((out / JOBS).read_text())
    ]
    for job, source in [*jobs, *jobs]:  # again: what found too little memory beside the others
        claim = out / CLAIMS / job.file_name
        if (out / job.file_name).exists() or not claimed(claim):
            continue
        try:
            do(job, source, out)
        except Exception as error:  # noqa: BLE001  the other rows are worth having
            print(f"{job}:\n{traceback.format_exc()}", flush=True)
            if isinstance(error, MemoryError):
                claim.unlink(missing_ok=True)
        release()


def claimed(path: Path) -> bool:
    """Whether this process is the first to ask."""
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def do(job: Job, source: Path, out: Path) -> None:
    """Run a job and store what it found."""
    start = time.perf_counter()
    values = job.study.run(source, job.settings, job.seed)
    found = {
        "data": job.data,
        "settings": job.settings,
        "seed": job.seed,
        "values": {name: float(value) for name, value in values.items()},
        "seconds": round(time.perf_counter() - start, 1),
        "card": card(),
        "machine": describe(),
    }
    path = out / job.file_name
    partial = path.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps(found, indent=1) + "\n")
    partial.rename(path)


def release() -> None:
    """Give back what this process holds of a card's memory: others need it."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        gc.collect()
        torch.cuda.empty_cache()


def card() -> str | None:
    """The GPU that torch uses in this process; None if it uses none."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return None
    return str(torch.cuda.get_device_name())
