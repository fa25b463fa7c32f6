"""Show and store what came of a campaign."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.machine import describe
from campaigns.framework.outcomes import ALLOWED, OUTCOMES

console = Console(width=None if Console().is_terminal else 150)


def show(name: str, result: dict[str, Any]) -> None:
    """Print the table of targets and outcomes, then each finding with its command."""
    kinds = [kind for kind in OUTCOMES if result["outcomes"].get(kind)]
    table = Table(
        title=f"{name}: {result['cases']:,} cases in {result['seconds']:,} s", title_justify="left"
    )
    table.add_column("target", no_wrap=True)
    for kind in kinds:
        table.add_column(kind, justify="right", style="" if kind in ALLOWED else "bold red")
    table.add_column("slowest", justify="right", no_wrap=True)
    for target, counts in result["targets"].items():
        numbers = [f"{counts.get(kind, 0):,}" for kind in kinds]
        table.add_row(target, *numbers, f"{result['slowest_seconds'].get(target, 0):.2f} s")
    if len(result["targets"]) > 1:
        table.add_row("all", *(f"{result['outcomes'][kind]:,}" for kind in kinds), style="bold")
    console.print(table)
    for target, reason in result["skipped"].items():
        console.print(f"skipped {target}: {reason}", markup=False)
    for finding in result["findings"]:
        console.print(
            f"\n{finding['kind']} {finding['target']}: {finding['detail']}\n"
            f"  {finding['command']}\n  {finding['path']}",
            markup=False,
            soft_wrap=True,
        )


def broken(result: dict[str, Any]) -> int:
    """Return how many cases broke the promise."""
    return sum(count for kind, count in result["outcomes"].items() if kind not in ALLOWED)


def store(path: Path, name: str, result: dict[str, Any], run: dict[str, Any]) -> None:
    """Write the result with what it was run on."""
    record = {"campaign": name, "run": run, "result": result, "machine": describe()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2) + "\n")
    console.print(f"stored in {path}", markup=False)
