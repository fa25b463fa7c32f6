"""Rows of a record: settings, seeds, and measures with all values, their middle and its interval.

A measure has a value for each seed, with their mean and ``margin``, the half-width of a 95%
t-interval; or, of a timing, a value for each round, with their median and ``interval``, the least
and the largest: it holds the true median with a probability of 1 - 2 ** (1 - rounds). What was
measured once has one value and no margin.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.report.means import mean_and_margin

Rows = dict[str, dict[str, Any]]
SEED = ", seed "
BETWEEN = ", "  # names of sections, in the name of a row


class Rounds(list[float]):
    """Values of rounds of a timing, as opposed to those of seeds."""


def measured(values: float | Sequence[float]) -> dict[str, Any]:
    """A measure: one value, or one for each seed, or for each of `Rounds`."""
    if isinstance(values, Rounds):
        ends = [min(values), max(values)] if len(values) > 1 else None
        return {"values": list(values), "median": statistics.median(values), "interval": ends}
    listed = list(values) if isinstance(values, Sequence) else [values]
    mean, margin = mean_and_margin(listed)
    return {"values": listed, "mean": mean, "margin": margin}


def again(measure: Mapping[str, Any]) -> dict[str, Any]:
    """The measure that its values make."""
    return measured(Rounds(measure["values"]) if "median" in measure else measure["values"])


def middle(measure: Mapping[str, Any]) -> float:
    """Mean or median."""
    found: float = measure["median"] if "median" in measure else measure["mean"]
    return found


def rows_of(sections: Mapping[str, Any], *, seeds: Sequence[int] = (), name: str = "") -> Rows:
    """Rows of nested sections: each that has numbers is a row, named by the way to it.

    Parameters
    ----------
    sections : dict
        A number, or a list of them, is a measure: a value for each seed, or round if it is of
        `Rounds`. What is neither a number nor a section is a setting of its row.
    seeds : list of int, optional
        Of all rows; by default they are counted from 0.
    name : str, optional
        Of the section itself.
    """
    measures = {key: measured(value) for key, value in sections.items() if is_measure(value)}
    rows: Rows = {}
    if measures:
        most = max(len(one["values"]) if "mean" in one else 1 for one in measures.values())
        known = list(seeds) or (list(range(most)) if most > 1 else [])
        settings = {
            key: value
            for key, value in sections.items()
            if key not in measures and not isinstance(value, Mapping)
        }
        rows[name] = {"settings": settings, "seeds": known, "measures": measures}
    for key, value in sections.items():
        if isinstance(value, Mapping):
            rows |= rows_of(value, seeds=seeds, name=BETWEEN.join(filter(None, (name, key))))
    return rows


def together(
    turns: Sequence[Mapping[str, Any]], kind: Callable[[list[float]], list[float]] = list
) -> dict[str, Any]:
    """Sections of seeds, or of rounds if `kind` is `Rounds`, as one, of all their values."""
    found: dict[str, Any] = {}
    for key, first in turns[0].items():
        values = [turn[key] for turn in turns if key in turn]
        if isinstance(first, Mapping):
            found[key] = together(values, kind)
        else:
            found[key] = kind(values) if all(map(is_number, values)) else first
    return found


def rows_of_runs(runs: Mapping[str, Mapping[str, Any]]) -> Rows:
    """Rows of runs that are called ``NAME, seed NUMBER``: a row for each name."""
    by_name: dict[str, dict[int, Mapping[str, Any]]] = {}
    for key, run in runs.items():
        name, _, seed = key.rpartition(SEED)
        by_name.setdefault(name, {})[int(seed)] = run
    rows: Rows = {}
    for name, found in by_name.items():
        rows |= rows_of(together(list(found.values())), seeds=list(found), name=name)
    return rows


def split_runs(runs: Mapping[str, Mapping[str, Any]]) -> tuple[Rows, dict[str, Any]]:
    """Rows of runs, and their curves beside."""
    curves = {name: run["curve"] for name, run in runs.items()}
    rest = {name: {k: v for k, v in run.items() if k != "curve"} for name, run in runs.items()}
    return rows_of_runs(rest), {"curves": curves}


def is_measure(value: Any) -> bool:
    """Whether it is a number, or a list of numbers."""
    if isinstance(value, list | tuple):
        return bool(value) and all(is_number(one) for one in value)
    return is_number(value)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
