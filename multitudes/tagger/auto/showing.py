"""The plan as a table, for whoever watches."""

from __future__ import annotations

import io

from multitudes.errors import counted
from multitudes.progress import duration, is_shown, say
from multitudes.tagger.auto.planning import Plan, Planned
from multitudes.tagger.costs.facts import Facts

WIDTH = 96


def show_plan(plan: Plan, facts: Facts) -> None:
    """Say what will be trained, and how long that takes; nothing if nobody watches."""
    if is_shown():
        say(f"{headline(plan, facts)}\n{table(plan)}")


def headline(plan: Plan, facts: Facts) -> str:
    """Return the plan in a sentence."""
    where = "a GPU" if facts.device == "cuda" else counted(facts.n_threads, "thread")
    text = f"plan for {duration(plan.seconds)} on {where}: about {duration(plan.total)}"
    if not plan.n_held_out:
        return f"{text}, one model on all instances"
    n = counted(plan.n_held_out, "instance")
    return f"{text}; {n} held out to measure and fuse members"


def table(plan: Plan) -> str:
    """Return members and times, one a line."""
    from rich.console import Console
    from rich.table import Table

    shown = Table(box=None, pad_edge=False, show_edge=False)
    for name in ("member", "", "trained", "measured", "again on all"):
        shown.add_column(name, justify="left" if name in ("member", "") else "right")
    for one in plan.members:
        times = (one.fit, one.check, one.again)
        shown.add_row(f"  {one.candidate.name}", one.candidate.what, *map(_time, times))
    for one in plan.too_long:
        shown.add_row(f"  ({one.candidate.name})", one.candidate.what, _too_long(one))
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None)
    console.print(shown)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines())


def _time(seconds: float) -> str:
    return "" if not seconds else duration(seconds) if seconds >= 1 else "< 1 s"


def _too_long(one: Planned) -> str:
    return f"{duration(one.seconds)}: no time"
