"""The weight of the transport distance: the paper's Figure 5, from stored records.

    python -m benchmarks.seq2set.figures RECORD.json ... --figures docs/figures

The records come from ``python -m benchmarks.seq2set --contestants figure5``, one for each data set,
or have the same runs under their presets' names; what is drawn is the micro-F1 of instances kept
aside, the mean over seeds.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.figures import panels_for, saved
from benchmarks.seq2set.contestants import LAMBDAS, figure5_name

NAME = "seq2set-transport-weight-older.png"
PRESETS = {0: "bm+lc", 8: "otseq2set"}  # weights that are presets


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.seq2set.figures")
    parser.add_argument("records", type=Path, nargs="+")
    parser.add_argument("--figures", type=Path, required=True, help="folder for the PNG file")
    given = parser.parse_args()
    records = [json.loads(path.read_text()) for path in given.records]
    print(draw({record["data"]: record["runs"] for record in records}, given.figures))


def draw(runs_of: dict[str, dict[str, Any]], folder: Path) -> Path:
    """A panel for each data set: micro-F1 over the transport's weight."""
    folder.mkdir(parents=True, exist_ok=True)
    figure, panels = panels_for(runs_of)
    for (data, runs), axes in zip(runs_of.items(), panels, strict=True):
        weights, scores = curve(runs)
        places = range(len(weights))  # evenly: weights double from one to the next
        axes.plot(places, scores, color="#2b6a99", marker="o", markersize=4)
        axes.set_xticks(places, [f"{weight:g}" for weight in weights])
        axes.set_title(data, fontsize=10)
        axes.set_xlabel("weight of the transport distance", fontsize=9)
    panels[0].set_ylabel("micro-F1, %", fontsize=9)
    return saved(figure, folder / NAME)


def curve(runs: dict[str, Any]) -> tuple[list[float], list[float]]:
    """The weights that were run, and the mean micro-F1 of each over its seeds."""
    found: dict[float, float] = {}
    for weight in LAMBDAS:
        names = (figure5_name(weight), PRESETS.get(weight))
        own = [run for key, run in runs.items() if key.partition(",")[0] in names]
        if own:
            found[weight] = sum(run["validation"]["micro_f1"] for run in own) / len(own)
    return list(found), list(found.values())


if __name__ == "__main__":
    main()
