"""Curves of the ablations, from stored records: the paper's Figure 3, and Table 6 as curves.

    python -m benchmarks.prime.figures RECORD.json ... --figures docs/figures

The records come from ``python -m benchmarks.prime --contestants losses sources --validate``, which
measures instances kept aside after each epoch.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import explain, panels_for, saved
from benchmarks.prime.contestants import LITE, LOSSES, SOURCES

METRICS = ("P@1", "R@100")
WHOLE = "PRIME"
COLOURS = ("#c44e2b", "#56a3d9", "#2b6a99", "#7a5ba6", "#3f9b6c", "#888888")
FIGURES = {"prime-sources.png": list(SOURCES), "prime-losses.png": list(LOSSES)}
Curve = tuple[list[int], np.ndarray]  # epochs, one value for each


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prime.figures")
    parser.add_argument("records", type=Path, nargs="+", help="of one data set")
    parser.add_argument("--figures", type=Path, required=True, help="folder for the PNG files")
    given = parser.parse_args()
    runs: dict[str, Any] = {}
    for path in given.records:
        runs |= json.loads(path.read_text())["runs"]
    for path in draw(runs, given.figures):
        print(path)


def draw(runs: dict[str, Any], folder: Path) -> list[Path]:
    """One figure for sources and one for losses, as far as there are curves of them."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for name, variants in FIGURES.items():
        shown = [one for one in variants if curves(runs, one, METRICS[0])]
        if shown:
            drawn.append(draw_one(runs, [LITE, *shown], folder / name))
    return drawn


def draw_one(runs: dict[str, Any], names: list[str], path: Path) -> Path:
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


def curves(runs: dict[str, Any], name: str, metric: str) -> list[Curve]:
    """(epochs, values) of each seed of a contestant that was validated more than once."""
    found: list[Curve] = []
    for key, run in runs.items():
        validated = [epoch for epoch in run["curve"] if metric in epoch]
        if key.rpartition(", seed")[0] == name and len(validated) > 1:
            values = np.array([epoch[metric] for epoch in validated])
            found.append(([epoch["epoch"] for epoch in validated], values))
    return found


if __name__ == "__main__":
    main()
