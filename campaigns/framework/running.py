"""Run a campaign: workers that take batches, and a parent that keeps the journal and the count."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

from campaigns.framework.campaign import Campaign
from campaigns.framework.findings import Finding, identity, stored
from campaigns.framework.journal import Journal, Totals, entry_of, open_ranges
from campaigns.framework.keeper import Plan, run_batch

FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Settings:
    """What the command line says."""

    cases: int
    seconds: float | None
    seed: int
    workers: int
    resume: bool
    only: str | None
    folder: Path

    def targets(self, campaign: Campaign) -> list[str]:
        """Return the targets that are tried."""
        chosen = [t for t in campaign.targets if self.only is None or self.only in t]
        if not chosen:
            raise SystemExit(f"no target of {campaign.name} has {self.only!r} in its name")
        return chosen


def prepare(campaign: Campaign, folder: Path) -> None:
    """Prepare in a process of its own: what it starts (threads, pools) is not forked later on."""
    process = FORK.Process(target=campaign.prepare, args=(folder,))
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"preparing {campaign.name} failed (exit status {process.exitcode})")


def run(
    campaign: Campaign, settings: Settings, journal: Journal, tick: Callable[[Totals], None]
) -> Totals:
    """Run all cases that are left; call `tick` after each batch."""
    totals = journal.begin(resume=settings.resume)
    left = list(open_ranges(settings.cases, totals.done, campaign.batch))
    begun = time.monotonic()
    deadline = None if settings.seconds is None else begun + settings.seconds
    plan = Plan(settings.seed, settings.targets(campaign), deadline)
    results: Queue[Any] = FORK.Queue()
    taken = FORK.Value("q", 0)
    known = FORK.Manager().dict(dict.fromkeys(totals.findings, True))
    workers = [
        FORK.Process(
            target=_worker,
            args=(campaign, settings, plan, left, number, (taken, known, results)),
        )
        for number in range(min(settings.workers, len(left)))
    ]
    for worker in workers:
        worker.start()
    busy = len(workers)
    while busy:
        entry = results.get()
        if entry is None:
            busy -= 1
        elif isinstance(entry, str):
            _stop(workers)
            raise SystemExit(entry)
        else:
            journal.note(entry)
            totals.add(entry)
            tick(totals)
    for worker in workers:
        worker.join()
    last = {"seconds": time.monotonic() - begun}
    journal.note(last)
    totals.add(last)
    return totals


def _stop(workers: list[Any]) -> None:
    for worker in workers:
        worker.terminate()


def _worker(
    campaign: Campaign,
    settings: Settings,
    plan: Plan,
    left: list[range],
    number: int,
    shared: tuple[Any, Any, Any],
) -> None:
    """Take batches until none is left; send an entry for each, and None at the end."""
    taken, known, results = shared
    try:
        _enter(campaign, settings.folder, number)
        while plan.deadline is None or time.monotonic() < plan.deadline:
            with taken.get_lock():
                place = taken.value
                taken.value += 1
            if place >= len(left):
                break
            batch = left[place]
            result = run_batch(campaign, plan, batch)
            findings: dict[str, Finding] = {}
            for failure in result.failures:
                key = identity(failure)
                if known.setdefault(key, os.getpid()) == os.getpid() and key not in findings:
                    findings[key] = stored(campaign, failure, settings.seed, settings.only)
                    known[key] = True
            results.put(entry_of(batch.start, batch.start + result.n_run, result, findings))
        results.put(None)
    except BaseException:  # noqa: BLE001 - the parent shows it and ends
        results.put(f"a worker of {campaign.name} failed:\n{traceback.format_exc()}")


def _enter(campaign: Campaign, folder: Path, number: int) -> None:
    """Settle a worker on a core, in a temporary folder of its own."""
    if campaign.pinned:
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[number % len(cores)]})
    place = folder / f"worker{number}"
    place.mkdir(parents=True, exist_ok=True)
    tempfile.tempdir = str(place)
    os.chdir(place)
    campaign.enter(folder)


def summary(campaign: Campaign, totals: Totals) -> dict[str, Any]:
    """Return counts per target and outcome, and the findings, for the stored result."""
    per_target: dict[str, Counter[str]] = {}
    overall: Counter[str] = Counter()
    for (target, kind), count in sorted(totals.counts.items()):
        per_target.setdefault(target, Counter())[kind] += count
        overall[kind] += count
    return {
        "cases": totals.n_cases(),
        "seconds": round(totals.seconds, 1),
        "outcomes": dict(overall),
        "targets": {target: dict(counts) for target, counts in per_target.items()},
        "skipped": dict(campaign.unavailable()),
        "slowest_seconds": {t: round(s, 3) for t, s in sorted(totals.slowest.items())},
        "peak_mb": round(totals.peak / 2**20),
        "findings": [vars(finding) for _, finding in sorted(totals.findings.items())],
    }
