"""Figures like the paper's Figures 2 and 3, from the records of the studies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.figures import explain, panels_for, saved

COLOURS = {"easy": "#56a3d9", "medium": "#2b6a99", "hard": "#c44e2b"}
MARKERS = {"easy": "o", "medium": "s", "hard": "^"}
Sets = Mapping[str, Mapping[str, Any]]
"""From the name of a data set to the rows of its record."""


def draw(overlaps: Sets, fusions: Sets, folder: Path) -> list[Path]:
    """Write both figures; `folder` is made where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        draw_overlaps(overlaps, folder / "disentangle-overlaps.png"),
        draw_fusions(fusions, folder / "disentangle-fusions.png"),
    ]


def draw_fusions(sets: Sets, path: Path) -> Path:
    """Relative gain in P@5 against k, for the three ways of fusing labels (Figure 2)."""
    figure, panels = panels_for(dict(sets))
    for (name, rows), axes in zip(sets.items(), panels, strict=True):
        axes.axhline(0, color="#888888", linewidth=0.8)
        found = {row: tuple(row.split(", k = ")) for row in rows}
        ks = sorted({int(k) for _, k in found.values()})
        for place, mode in enumerate(COLOURS):
            measures = {k: gain(rows, f"{mode}, k = {k}") for k in ks}
            # A little apart, or margins would hide each other.
            x = [k * 1.04 ** (place - 1) for k in ks]
            style = {"color": COLOURS[mode], "marker": MARKERS[mode], "label": mode}
            bars(axes, x, [measures[k] for k in ks], style)
        axes.set_xscale("log", base=2)
        axes.set_xlim(min(ks) / 1.3, max(ks) * 1.3)
        axes.set_xticks(ks, [str(k) for k in ks])
        axes.minorticks_off()
        axes.set_title(titled(name, rows), fontsize=10)
        axes.set_xlabel("k, labels fused into one")
    panels[0].set_ylabel("gain in P@5 by overlap 2, %")
    explain(figure, panels[0], title="fusions")
    return saved(figure, path)


def gain(rows: Mapping[str, Any], row: str) -> Mapping[str, Any]:
    """Mean and margin of the relative gain of a row."""
    found: Mapping[str, Any] = rows[row]["measures"]["P@5 gain %"]
    return found


def draw_overlaps(sets: Sets, path: Path) -> Path:
    """P@5 against overlap, the baseline at 0 (Figure 3); random copies beside overlap 2."""
    figure, panels = panels_for(dict(sets))
    for (name, rows), axes in zip(sets.items(), panels, strict=True):
        p5 = {row: one["measures"]["P@5"] for row, one in rows.items()}
        axes.axhline(p5["baseline"]["mean"], color="#888888", linewidth=0.8, linestyle=":")
        swept = {0: "baseline"} | {n: f"overlap {n}" for n in range(1, 7)}
        swept = {n: row for n, row in swept.items() if row in p5}
        style = {"color": COLOURS["medium"], "marker": "o", "label": "disentangled"}
        axes.plot(list(swept), [p5[row]["mean"] for row in swept.values()], **style)
        style = {"color": COLOURS["hard"], "marker": "x", "label": "random copies"}
        axes.plot([2], [p5["random copies"]["mean"]], linestyle="none", **style)
        axes.set_xticks(list(swept))
        axes.set_title(titled(name, rows), fontsize=10)
        axes.set_xlabel("overlap (0: baseline)")
    panels[0].set_ylabel("P@5, %")
    explain(figure, panels[0], title=None)
    return saved(figure, path)


def titled(name: str, rows: Mapping[str, Any]) -> str:
    """A data set, and how many seeds its panel is the mean of."""
    n = min(len(row["seeds"]) for row in rows.values())
    return f"{name}, {n} seed{'s' * (n > 1)}"


def bars(axes: Any, x: list[float], found: list[Mapping[str, Any]], style: dict[str, Any]) -> None:
    """A curve with margins, as far as there are any."""
    y, margins = ([one[key] for one in found] for key in ("mean", "margin"))
    known = all(margin is not None for margin in margins)
    axes.errorbar(x, y, yerr=margins if known else None, capsize=2, elinewidth=0.8, **style)
