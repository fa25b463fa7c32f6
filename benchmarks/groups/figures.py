"""Figure like the paper's Figure 4: how far behind the oracle, against the way of grouping."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.figures import explain, panels_for, saved
from benchmarks.report.means import mean_and_margin
from benchmarks.report.records import Record

PANELS = {
    "R": "random groups of",
    "C": "depth of clustering",
    "N": "noise in the clustered features",
}
STYLES: dict[str, dict[str, Any]] = {
    "baseline": {"color": "#888888", "marker": "x"},
    "EAGLE-0, lists": {"color": "#56a3d9", "marker": "o"},
    "EAGLE, lists": {"color": "#2b6a99", "marker": "s"},
    "contrast, lists": {"color": "#c44e2b", "marker": "D"},
    "contrast, sets": {"color": "#e0a030", "marker": "^"},
    "narrow, sets": {"color": "#6a8f3c", "marker": "v"},
}


def draw(record: Record, folder: Path, *, k: int = 1) -> Path:
    """How far P@k falls behind the oracle, in percent of it, with intervals over seeds.

    Parameters
    ----------
    record : Record
        Of ``groups-sweeps``.
    folder : path
        Made where it is missing.
    k : int
    """
    folder.mkdir(parents=True, exist_ok=True)
    figure, panels = panels_for(PANELS)
    for (kind, title), axes in zip(PANELS.items(), panels, strict=True):
        ways = sorted(
            {row.split(", ")[0] for row in record.rows if row.startswith(f"{kind}-")}, key=number
        )
        for method, style in STYLES.items():
            shown = [way for way in ways if f"{way}, {method}" in record.rows]
            if not shown:
                continue
            found = [mean_and_margin(behind(record, f"{way}, {method}", k)) for way in shown]
            axes.errorbar(
                [number(way) for way in shown], [mean for mean, _ in found],
                yerr=[margin or 0.0 for _, margin in found],
                label=method, markersize=4, capsize=2, elinewidth=0.8, **style,
            )  # fmt: skip
        axes.set_xticks([number(way) for way in ways])
        axes.set_xlabel(title)
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel(f"P@{k} below the oracle, %")
    explain(figure, panels[0], title=None)
    return saved(figure, folder / f"groups-p{k}.png")


def number(way: str) -> float:
    """The 0.5 of N-0.5."""
    return float(way.partition("-")[2])


def behind(record: Record, row: str, k: int) -> list[float]:
    """In percent of the oracle, for each seed that both have."""
    best = record.values("oracle", f"P@{k}")
    found = record.values(row, f"P@{k}")
    return [100 * (1 - found[seed] / best[seed]) for seed in found if seed in best]
