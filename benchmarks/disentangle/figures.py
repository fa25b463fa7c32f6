"""Figures of `benchmarks.disentangle`, like the paper's Figures 2 and 3, from its own numbers.

``python -m benchmarks.disentangle.figures --figures DIR`` draws them again from the stored record.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.disentangle.study import BASELINE, KS, MODES, OVERLAP, RANDOM, overlap_name
from benchmarks.figures import explain, panels_for, saved
from benchmarks.report import RESULTS

P5 = KS.index(5)
COLOURS = {"easy": "#56a3d9", "medium": "#2b6a99", "hard": "#c44e2b"}
MARKERS = {"easy": "o", "medium": "s", "hard": "^"}


def draw(sets: dict[str, Any], folder: Path) -> list[Path]:
    """Write both figures; the one about fusions only where there are any.

    Parameters
    ----------
    sets : dict
        From the name of a data set to its `benchmarks.disentangle.__main__.summary`.
    folder : path
        Made where it is missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [draw_overlaps(sets, folder / "disentangle-overlaps.png")]
    with_fusions = {name: result for name, result in sets.items() if result["fusions"]}
    if with_fusions:
        paths.append(draw_fusions(with_fusions, folder / "disentangle-fusions.png"))
    return paths


def draw_fusions(sets: dict[str, Any], path: Path) -> Path:
    """Relative gain in P@5 against k, for the three ways of fusing labels (Figure 2)."""
    figure, panels = panels_for(sets)
    ks = sorted({one["k"] for result in sets.values() for one in result["fusions"]})
    for (name, result), axes in zip(sets.items(), panels, strict=True):
        axes.axhline(0, color="#888888", linewidth=0.8)
        for place, mode in enumerate(MODES):
            ones = sorted((f for f in result["fusions"] if f["mode"] == mode), key=lambda f: f["k"])
            # A little apart, or margins would hide each other.
            x = [one["k"] * 1.04 ** (place - 1) for one in ones]
            bars(
                axes, x, [one["gain_rel_p5"] for one in ones],
                [one["gain_rel_p5_margin"] for one in ones],
                color=COLOURS[mode], marker=MARKERS[mode], label=mode,
            )  # fmt: skip
        axes.set_xscale("log", base=2)
        axes.set_xlim(min(ks) / 1.3, max(ks) * 1.3)
        axes.set_xticks(ks, [str(k) for k in ks])
        axes.minorticks_off()
        axes.set_title(f"{name}{seeds_note(result['fusions'])}", fontsize=10)
        axes.set_xlabel("k, labels fused into one")
    panels[0].set_ylabel("gain in P@5 by overlap 2, %")
    explain(figure, panels[0], title="fusions")
    return saved(figure, path)


def draw_overlaps(sets: dict[str, Any], path: Path) -> Path:
    """P@5 against overlap, the baseline at 0 (Figure 3); random copies beside overlap 2."""
    figure, panels = panels_for(sets)
    for (name, result), axes in zip(sets.items(), panels, strict=True):
        settings = result["settings"]
        swept = {0: BASELINE, **{n: overlap_name(n) for n in result["overlaps"]}}
        # All points of a curve are of the same seeds: those that every overlap has.
        seeds = min(settings[key]["seeds"] for key in swept.values())
        curve = [p5(settings[key], seeds) for key in swept.values()]
        axes.axhline(curve[0], color="#888888", linewidth=0.8, linestyle=":")
        axes.plot(list(swept), curve, color=COLOURS["medium"], marker="o", label="disentangled")
        axes.plot(
            [OVERLAP], [p5(settings[RANDOM], seeds)], color=COLOURS["hard"], marker="x",
            linestyle="none", label="random copies",
        )  # fmt: skip
        axes.set_xticks(list(swept))
        axes.set_title(f"{name}{seeds_note([{'seeds': seeds}])}", fontsize=10)
        axes.set_xlabel("overlap (0: baseline)")
    panels[0].set_ylabel("P@5, %")
    explain(figure, panels[0], title=None)
    return saved(figure, path)


def p5(setting: dict[str, Any], seeds: int) -> float:
    """Mean P@5 over the first seeds."""
    return float(np.mean([p[P5] for p in setting["p_of_seeds"][:seeds]]))


def seeds_note(records: list[dict[str, Any]]) -> str:
    """How many seeds a panel is the mean of."""
    n = min(record["seeds"] for record in records)
    return f", {n} seed{'s' * (n > 1)}"


def bars(axes: Any, x: list[float], y: list[float], margins: list[Any], **style: Any) -> None:
    """A curve with margins, as far as there are any."""
    known = all(margin is not None for margin in margins)
    axes.errorbar(x, y, yerr=margins if known else None, capsize=2, elinewidth=0.8, **style)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.disentangle.figures")
    parser.add_argument("--figures", type=Path, required=True, help="folder for the PNG files")
    given = parser.parse_args()
    record = json.loads((RESULTS / "disentangle.json").read_text())
    for path in draw(record["results"]["sets"], given.figures):
        print(path)


if __name__ == "__main__":
    main()
