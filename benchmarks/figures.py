"""How figures of benchmarks look: panels side by side, and a legend that hides nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from multitudes.errors import require

LONGEST_BESIDE = 28  # characters of a name beside the panels


def explain(figure: Any, axes: Any, title: str | None) -> None:
    """A legend where it hides nothing: beside the panels, or under them if names are long."""
    handles, names = axes.get_legend_handles_labels()
    is_long = max(map(len, names), default=0) > LONGEST_BESIDE
    place = "outside lower left" if is_long else "outside right upper"
    if is_long:
        figure.set_figheight(figure.get_figheight() + 0.2 * len(names))
    figure.legend(handles, names, loc=place, title=title, frameon=False, fontsize=9)


def panels_for(sets: dict[str, Any]) -> tuple[Any, list[Any]]:
    """A figure with a panel for each data set, side by side."""
    require("matplotlib", extra="dev")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.6 + 3.0 * len(sets), 3.0), layout="constrained")
    panels = figure.subplots(1, len(sets), squeeze=False)[0]
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#e4e4e4", linewidth=0.7)
        axes.set_axisbelow(True)
        axes.tick_params(labelsize=9)
    return figure, list(panels)


def saved(figure: Any, path: Path) -> Path:
    figure.savefig(path, dpi=120, metadata={"Software": None})
    return path
