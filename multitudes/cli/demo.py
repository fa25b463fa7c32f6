"""multitudes demo: everything, on a generated corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from multitudes.cli import options


def demo(
    instances: Annotated[
        int, typer.Option("--instances", min=200, help="Size of the corpus.")
    ] = 20_000,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also save the model, to this folder.")
    ] = None,
    random_state: options.Seed = 0,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Try it all on a generated catalogue: train, evaluate, tag.

    Example:  multitudes demo -o demo-model
    """
    from multitudes import demo, progress
    from multitudes.cli.printing.show import console, report_table

    if output is not None:
        from multitudes.store.folder import check_target

        check_target(output)
    out = console()
    with progress.shown(not quiet):
        for step in demo.steps(
            n_instances=instances, random_state=random_state, n_jobs=threads, output=output
        ):
            out.print(step.text, markup=False, soft_wrap=True)
            if step.report is not None:
                out.print(report_table(step.report))
