"""Figures of the documentation, drawn from records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.machine import ROOT
from benchmarks.report.records import Record, Records
from benchmarks.report.rows import middle

FIGURES = ROOT / "docs" / "figures"
COLOR = "#2b6a99"


def disentangle(records: Records, folder: Path) -> None:
    from benchmarks.disentangle.figures import draw
    from benchmarks.evidence.of_disentangle import FUSIONS, OVERLAPS

    overlaps, fusions = (
        {data: records[name].rows for data in study.data if (name := f"{study.name}-{data}") in
         records.names}
        for study in (OVERLAPS, FUSIONS)
    )  # fmt: skip
    draw(overlaps, fusions, folder)


def groups(records: Records, folder: Path) -> None:
    from benchmarks.groups.figures import draw

    for k in (1, 5):
        draw(records["groups-sweeps-eurlex-titles"], folder, k=k)


def group_simulation(records: Records, folder: Path) -> None:
    from benchmarks.groups.simulation import draw_figure

    draw_figure(records["groups-simulation-appendix-b1"], folder / "group-simulation.png")


def miml(records: Records, folder: Path) -> None:
    """Embeddings are not in the record: they are computed again, in seconds."""
    from benchmarks.miml.figures import draw

    draw(folder)


def prime(records: Records, folder: Path) -> None:
    from benchmarks.prime.figures import draw

    draw(records["prime-lf-msdocs-links-ablations"].content["raw"]["curves"], folder)


def transport_weight_older(records: Records, folder: Path) -> None:
    from benchmarks.seq2set.figures import draw

    draw({"eurlex-titles": records["seq2set-eurlex-titles"].rows}, folder)


def transport_weight(records: Records, folder: Path) -> None:
    draw_rows(
        {"eurlex-titles": records["seq2set-transport-weight-eurlex-titles"]},
        "validation micro_f1",
        folder / "seq2set-transport-weight.png",
        x="weight of the transport distance",
        y="micro-F1, %",
    )


DRAWINGS: tuple[Callable[[Records, Path], None], ...] = (
    disentangle, groups, group_simulation, miml, prime, transport_weight_older, transport_weight,
)  # fmt: skip


def draw_all(folder: Path = FIGURES) -> Iterator[str]:
    """Draw all; yields a line about each."""
    for draw in DRAWINGS:
        draw(Records(), folder)
        yield f"drawn: {draw.__name__}"


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
        found = [record.measure(row, measure) for row in shown]
        places = range(len(shown))
        axes.errorbar(
            places, [middle(one) for one in found],
            yerr=[one.get("margin") or 0.0 for one in found],
            color=COLOR, marker="o", markersize=4, capsize=2, elinewidth=0.8,
        )  # fmt: skip
        axes.set_xticks(places, shown)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel(x, fontsize=9)
    all_axes[0].set_ylabel(y, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    return saved(figure, path)
