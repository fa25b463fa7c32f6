"""A picture of a search: trials one after the other, and which settings mattered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from multitudes.errors import require
from multitudes.tuning.trial import Trial

COLORS = ("#2ea043", "#4c78a8", "#b0b0b0")
MOST_BARS = 15


def figure_of(metric: str, trials: Sequence[Trial], shares: Mapping[str, float]) -> Any:
    """Return a matplotlib figure of a search.

    On the left the metric of each trial on the validation data, less that of the default on the
    same part of the training data, so that trials that were ended early can be compared too. On
    the right, if there were enough trials, the share of the differences that each setting explains.

    Parameters
    ----------
    metric : str
    trials : sequence of Trial
    shares : mapping of name to float
        From `importances`; may be empty.
    """
    require("matplotlib", extra="plots")
    from matplotlib.figure import Figure

    n_panels = 2 if shares else 1
    figure = Figure(figsize=(5.5 * n_panels, 4), layout="constrained")
    panels = figure.subplots(1, n_panels, squeeze=False)[0]
    _history(panels[0], metric, trials)
    if shares:
        _importances(panels[1], shares)
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _history(axes: Any, metric: str, trials: Sequence[Trial]) -> None:
    base = trials[0].values if trials[0].value is not None else {}  # of the default
    finished = [one for one in trials if one.value is not None]
    early = [one for one in trials if one.state == "ended early" and _reached(one) in base]
    axes.axhline(0, color="gray", linewidth=1, linestyle=":")
    axes.scatter(
        [one.number for one in early],
        [100 * (one.values[_reached(one)] - base[_reached(one)]) for one in early],
        s=12,
        color=COLORS[2],
        label="ended early, on a smaller part",
    )
    numbers = [one.number for one in finished]
    values = [100 * (one.values[_reached(one)] - base.get(_reached(one), 0)) for one in finished]
    axes.scatter(numbers, values, s=22, color=COLORS[1], label="finished")
    so_far = [max(values[: i + 1]) for i in range(len(values))]
    last = max(one.number for one in trials)
    axes.step(
        [*numbers, last], [*so_far, so_far[-1]], where="post", color=COLORS[0], label="best so far"
    )
    than = "more than the default on the same part, points" if base else "percent"
    axes.set(
        xlabel="trial",
        ylabel=f"{metric} (validation), {than}",
        title=f"{len(trials)} trials",
    )
    axes.legend(frameon=False, fontsize="small")


def _reached(trial: Trial) -> int:
    """Return the size of the largest part that a trial has learned from."""
    return max(trial.values)


def _importances(axes: Any, shares: Mapping[str, float]) -> None:
    shown = dict(sorted(shares.items(), key=lambda one: one[1])[-MOST_BARS:])
    axes.barh(list(shown), [100 * share for share in shown.values()], color=COLORS[0])
    axes.set(xlabel="percent of the differences explained (fANOVA)", title="what mattered")
