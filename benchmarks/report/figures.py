"""Figures of the documentation that come from records; each is drawn if its records are there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import ROOT
from benchmarks.report.means import mean_and_margin
from benchmarks.report.records import Record
from benchmarks.report.storing import RESULTS

FIGURES = ROOT / "docs" / "figures"
COLOR = "#2b6a99"


@dataclass(frozen=True)
class Drawing:
    """A way to draw one or more figures, and the records it takes."""

    records: tuple[str, ...]
    draw: Callable[[Sequence[Mapping[str, Any]], Path], Any]


def disentangle(found: Sequence[Mapping[str, Any]], folder: Path) -> None:
    from benchmarks.disentangle.figures import draw

    draw(found[0]["results"]["sets"], folder)


def groups(found: Sequence[Mapping[str, Any]], folder: Path) -> None:
    from benchmarks.groups.figures import draw

    record = Record(found[0]["study"], found[0])
    for k in (1, 5):
        draw(record, folder, k=k)


def group_simulation(found: Sequence[Mapping[str, Any]], folder: Path) -> None:
    from benchmarks.groups.simulation import draw_figure

    draw_figure(Record(found[0]["study"], found[0]), folder / "group-simulation.png")


def miml(found: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Embeddings are not in the record: they are computed again, in seconds."""
    from benchmarks.miml.figures import draw

    draw(folder)


def prime(found: Sequence[Mapping[str, Any]], folder: Path) -> None:
    from benchmarks.prime.figures import draw

    draw(dict(found[0]["runs"]), folder)


def transport_weight_older(found: Sequence[Mapping[str, Any]], folder: Path) -> None:
    from benchmarks.seq2set.figures import draw

    draw({one["data"]: one["runs"] for one in found}, folder)


def transport_weight(found: Sequence[Mapping[str, Any]], folder: Path) -> None:
    draw_rows(
        {next(iter(one["data"])): Record(one["study"], one) for one in found},
        "validation micro_f1",
        folder / "seq2set-transport-weight.png",
        x="weight of the transport distance",
        y="micro-F1, %",
    )


DRAWINGS = (
    Drawing(("disentangle",), disentangle),
    Drawing(("groups-sweeps-eurlex-titles",), groups),
    Drawing(("groups-simulation-appendix-b1",), group_simulation),
    Drawing(("miml-digits-scikit-learn",), miml),
    Drawing(("prime-lf-msdocs-links-ablations",), prime),
    Drawing(("seq2set-eurlex-titles",), transport_weight_older),
    Drawing(("seq2set-transport-weight-eurlex-titles",), transport_weight),
)


def draw_all(folder: Path = FIGURES, results: Path = RESULTS) -> Iterator[str]:
    """Draw what there are records of; yields a line about each."""
    for drawing in DRAWINGS:
        paths = [results / f"{name}.json" for name in drawing.records]
        names = ", ".join(drawing.records)
        if all(path.exists() for path in paths):
            drawing.draw([json.loads(path.read_text(encoding="utf-8")) for path in paths], folder)
            yield f"drawn from {names}"
        else:
            yield f"not drawn: no record {names}"


def draw_rows(
    panels: Mapping[str, Record],
    measure: str,
    path: Path,
    *,
    x: str,
    y: str,
    rows: Sequence[str] | None = None,
) -> Path:
    """A panel for each record: rows from left to right, the mean of a measure with its interval.

    Parameters
    ----------
    panels : dict
        Title of a panel to its record.
    measure : str
    path : path
        The PNG file.
    x, y : str
        What the axes show.
    rows : list of str, optional
        By default all.
    """
    from benchmarks.figures import panels_for, saved

    figure, all_axes = panels_for(dict(panels))
    for (title, record), axes in zip(panels.items(), all_axes, strict=True):
        shown = list(record.rows) if rows is None else list(rows)
        found = [mean_and_margin(list(record.values(row, measure).values())) for row in shown]
        places = range(len(shown))
        axes.errorbar(
            places, [mean for mean, _ in found], yerr=[margin or 0.0 for _, margin in found],
            color=COLOR, marker="o", markersize=4, capsize=2, elinewidth=0.8,
        )  # fmt: skip
        axes.set_xticks(places, shown)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel(x, fontsize=9)
    all_axes[0].set_ylabel(y, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    return saved(figure, path)
