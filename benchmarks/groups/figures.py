"""Figure of `benchmarks.groups`, like the paper's Figure 4, from its own numbers.

``python -m benchmarks.groups.figures --figures DIR`` draws it again from the stored record.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.figures import explain, panels_for, saved
from benchmarks.groups.study import BASELINE, CONTRAST, EAGLE, ORACLE, ROUNDS, START
from benchmarks.report import RESULTS

PANELS = {
    "R": "random groups of",
    "C": "depth of clustering",
    "N": "noise in the clustered features",
}
STYLES = {
    BASELINE: {"color": "#888888", "marker": "x"},
    START: {"color": "#56a3d9", "marker": "o"},
    EAGLE: {"color": "#2b6a99", "marker": "s"},
    CONTRAST: {"color": "#e0a030", "marker": "^"},
    ROUNDS: {"color": "#c44e2b", "marker": "D"},
}


def draw(result: dict[str, Any], folder: Path, *, k: int = 1) -> Path:
    """How far P@k falls behind the oracle, in percent of it, against the way of grouping.

    Parameters
    ----------
    result : dict
        `benchmarks.groups.__main__.summary` of a data set.
    folder : path
        Made where it is missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    place = (1, 3, 5).index(k)
    figure, panels = panels_for(PANELS)
    for (kind, title), axes in zip(PANELS.items(), panels, strict=True):
        numbers = sorted(
            (float(name.partition("-")[2]), name)
            for name in result["settings"]
            if name.startswith(f"{kind}-")
        )
        for method, style in STYLES.items():
            points = [
                (x, behind(result["settings"][name], method, place))
                for x, name in numbers
                if method in result["settings"][name]
            ]
            axes.plot(*zip(*points, strict=True), label=method, markersize=4, **style)
        axes.set_xticks([x for x, _ in numbers])
        axes.set_xlabel(title)
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel(f"P@{k} below the oracle, %")
    explain(figure, panels[0], title=None)
    return saved(figure, folder / f"groups-p{k}.png")


def behind(setting: dict[str, Any], method: str, place: int) -> float:
    """In percent of the oracle, over the seeds that the method has."""
    seeds = setting[method]["seeds"]
    runs = setting[ORACLE]["runs"][:seeds]
    best = sum(run["p"][place] for run in runs) / len(runs)
    return 100 * (1 - setting[method]["p"][place] / best)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.groups.figures")
    parser.add_argument("--figures", type=Path, required=True, help="folder for the PNG files")
    given = parser.parse_args()
    record = json.loads((RESULTS / "groups.json").read_text())
    for result in record["results"]["sets"].values():
        if any(name.startswith("N-") for name in result["settings"]):
            print(draw(result, given.figures), draw(result, given.figures, k=5))


if __name__ == "__main__":
    main()
