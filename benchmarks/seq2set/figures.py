"""The weight of the transport distance: the paper's Figure 5, from stored records.

The records come from ``python -m benchmarks.seq2set --contestants figure5``, one for each data set,
or have the same rows under their presets' names; what is drawn is the micro-F1 of instances kept
aside, the mean over seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks.figures import panels_for, saved
from benchmarks.report.rows import Rows
from benchmarks.seq2set.contestants import LAMBDAS, figure5_name

NAME = "seq2set-transport-weight-older.png"
F1 = "micro_f1"
PRESETS = {0: "bm+lc", 8: "otseq2set"}  # weights that are presets


def draw(rows_of: Mapping[str, Rows], folder: Path) -> Path:
    """A panel for each data set: micro-F1 over the transport's weight."""
    folder.mkdir(parents=True, exist_ok=True)
    figure, panels = panels_for(dict(rows_of))
    for (data, rows), axes in zip(rows_of.items(), panels, strict=True):
        weights, scores = curve(rows)
        places = range(len(weights))  # evenly: weights double from one to the next
        axes.plot(places, scores, color="#2b6a99", marker="o", markersize=4)
        axes.set_xticks(places, [f"{weight:g}" for weight in weights])
        axes.set_title(data, fontsize=10)
        axes.set_xlabel("weight of the transport distance", fontsize=9)
    panels[0].set_ylabel("micro-F1, %", fontsize=9)
    return saved(figure, folder / NAME)


def curve(rows: Rows) -> tuple[list[float], list[float]]:
    """The weights that were run, and the mean micro-F1 of each over its seeds."""
    found: dict[float, float] = {}
    for weight in LAMBDAS:
        names = (f"{name}, validation" for name in (figure5_name(weight), PRESETS.get(weight)))
        own = [value for n in names if n in rows for value in rows[n]["measures"][F1]["values"]]
        if own:
            found[weight] = sum(own) / len(own)
    return list(found), list(found.values())
