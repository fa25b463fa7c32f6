"""Curves of the ablations, from stored records: the paper's Figure 3, and Table 6 as curves.

The records come from ``python -m benchmarks.prime --contestants losses sources --validate``, which
measures instances kept aside after each epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import explain, panels_for, saved
from benchmarks.prime.contestants import LITE, LOSSES, SOURCES

METRICS = ("P@1", "R@100")
WHOLE = "PRIME"
COLOURS = ("#c44e2b", "#56a3d9", "#2b6a99", "#7a5ba6", "#3f9b6c", "#888888")
FIGURES = {"prime-sources.png": list(SOURCES), "prime-losses.png": list(LOSSES)}
Runs = Mapping[str, Any]  # the epochs of each run
Curve = tuple[list[int], np.ndarray]  # epochs, one value for each


def draw(runs: Runs, folder: Path) -> list[Path]:
    """One figure for sources and one for losses, as far as there are curves of them."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for name, variants in FIGURES.items():
        shown = [one for one in variants if curves(runs, one, METRICS[0])]
        if shown:
            drawn.append(draw_one(runs, [LITE, *shown], folder / name))
    return drawn


def draw_one(runs: Runs, names: list[str], path: Path) -> Path:
    """A panel for each metric, a curve for each contestant: the mean over its seeds."""
    figure, panels = panels_for(dict.fromkeys(METRICS))
    for metric, axes in zip(METRICS, panels, strict=True):
        for name, color in zip(names, COLOURS, strict=False):
            found = curves(runs, name, metric)
            if not found:
                continue
            epochs = sorted(set.intersection(*(set(one[0]) for one in found)))
            values = [[dict(zip(*one, strict=True))[e] for e in epochs] for one in found]
            label = WHOLE if name == LITE else name
            axes.plot(epochs, 100 * np.mean(values, axis=0), color=color, marker=".", label=label)
        axes.set_title(metric, fontsize=10)
        axes.set_xlabel("epoch")
        axes.xaxis.get_major_locator().set_params(integer=True)
    panels[0].set_ylabel("on instances kept aside, %")
    explain(figure, panels[0], title=None)
    return saved(figure, path)


def curves(runs: Runs, name: str, metric: str) -> list[Curve]:
    """(epochs, values) of each seed of a contestant that was validated more than once."""
    found: list[Curve] = []
    for key, curve in runs.items():
        validated = [epoch for epoch in curve if metric in epoch]
        if key.rpartition(", seed")[0] == name and len(validated) > 1:
            values = np.array([epoch[metric] for epoch in validated])
            found.append(([epoch["epoch"] for epoch in validated], values))
    return found
