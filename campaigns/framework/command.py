"""The command line of all campaigns."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from campaigns.framework import report
from campaigns.framework.campaign import Campaign, Case
from campaigns.framework.child import drawn
from campaigns.framework.findings import RESULTS
from campaigns.framework.journal import Journal, Totals
from campaigns.framework.keeper import run_alone
from campaigns.framework.outcomes import ALLOWED
from campaigns.framework.running import Settings, prepare, run, summary


def main(campaign: Campaign, arguments: Sequence[str] | None = None) -> int:
    """Run a campaign as the command line says; return 1 if a case broke its promise."""
    given = _parser(campaign).parse_args(arguments)
    campaign.reduce_seconds = 0.0 if given.no_reduce else campaign.reduce_seconds
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # files are quicker there
    prefix = f"campaign-{campaign.name}-"
    with tempfile.TemporaryDirectory(prefix=prefix, dir=memory) as temporary:
        folder = Path(given.folder or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        settings = Settings(
            given.cases, given.seconds, given.seed, given.workers, given.resume, given.only, folder
        )
        settings.targets(campaign)
        prepare(campaign, folder)
        if given.case is not None or given.input is not None:
            return _one(campaign, settings, given.case, given.input)
        return _all(campaign, settings, Path(given.output or RESULTS / f"{campaign.name}.json"))


def _parser(campaign: Campaign) -> argparse.ArgumentParser:
    summary_line = (type(campaign).__doc__ or "").strip().splitlines()[:1]
    parser = argparse.ArgumentParser(
        prog=f"python -m campaigns.{campaign.name}", description="".join(summary_line)
    )
    add = parser.add_argument
    add("--cases", type=int, default=campaign.default_cases, help="how many cases to run")
    add("--seconds", type=float, help="stop after this time, at the end of a case")
    add("--seed", type=int, default=0, help="case i of a seed is always the same")
    add("--workers", type=int, default=1, help="processes that run cases side by side")
    add("--resume", action="store_true", help="go on with the run that was stopped")
    add("--only", help="try only targets that have this in their name")
    add("--case", type=int, help="run this one case, and show what comes of it")
    add("--input", type=Path, help="run the one target of --only on this file")
    add("--folder", type=Path, help="keep what is prepared here; default a temporary folder")
    add("--output", type=Path, help="where the result goes; default campaigns/results")
    add("--no-reduce", action="store_true", help="store findings as they are")
    return parser


def _one(campaign: Campaign, settings: Settings, number: int | None, file: Path | None) -> int:
    """Run one case alone; in this process's child, so that a crash is shown as one."""
    content = file.resolve().read_bytes() if file else None
    os.chdir(settings.folder)  # cases write where they are
    campaign.enter(settings.folder)
    targets = settings.targets(campaign)
    if content is None:
        case = drawn(campaign, settings.seed, int(number or 0), targets)
    elif len(targets) == 1 or settings.only in targets:
        case = Case(settings.only if settings.only in targets else targets[0], content)
    else:
        raise SystemExit(f"--input needs --only with one of: {', '.join(targets)}")
    outcome = run_alone(campaign, case)
    console = report.console
    console.print(campaign.describe(case), markup=False, soft_wrap=True)
    console.print(f"{outcome.kind}: {outcome.detail}", markup=False, soft_wrap=True)
    if outcome.trace:
        console.print(outcome.trace, markup=False, highlight=False, soft_wrap=True)
    return int(outcome.kind not in ALLOWED)


def _all(campaign: Campaign, settings: Settings, output: Path) -> int:
    of_run = {"seed": settings.seed, "cases": settings.cases, "only": settings.only}
    journal = Journal(output.with_suffix(".journal.jsonl").resolve(), of_run)
    output = output.resolve()
    with Progress(
        TextColumn(campaign.name),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[broken]}"),
        console=report.console,
        disable=not sys.stderr.isatty(),
    ) as progress:
        task = progress.add_task("", total=settings.cases, broken="")

        def tick(totals: Totals) -> None:
            failed = sum(n for (_, kind), n in totals.counts.items() if kind not in ALLOWED)
            shown = f"[bold red]{failed:,} broken" if failed else ""
            progress.update(task, completed=totals.n_cases(), broken=shown)

        totals = run(campaign, settings, journal, tick)
    result = summary(campaign, totals)
    report.show(campaign.name, result)
    report.store(output, campaign.name, result, {**of_run, "workers": settings.workers})
    return int(report.broken(result) > 0)
