"""Figures: of an evaluation, how reliable scores are, and which labels are found; and files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multitudes.errors import ConfigError, require
from multitudes.files.lease import HeldError
from multitudes.files.writing import replaced_file

if TYPE_CHECKING:
    from multitudes.data import Aligned
    from multitudes.metrics import Report

SUFFIXES = (".png", ".svg", ".pdf")
RANKS = 5  # the labels somebody looks at
COLORS = ("#2ea043", "#4c78a8")
_BY_BIN = re.compile(r"([PR])\[(.+)\]@(\d+)")


def check_plot(path: Path | None) -> None:
    """Refuse a file that cannot be drawn, before any work."""
    if path is None:
        return
    require("matplotlib", extra="plots")
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"--plot writes {', '.join(SUFFIXES)} files, got {path}")
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"cannot write {path}: there is no folder {path.parent}")


def plot_evaluation(path: Path, aligned: Aligned, report: Report) -> None:
    """Draw what there is: reliability of scores that may be probabilities, and P by frequency.

    Parameters
    ----------
    path : Path
        A .png, .svg or .pdf file.
    aligned : Aligned
        Predictions and truth.
    report : Report
        With the metrics by label frequency, if there was training data.
    """
    from matplotlib.figure import Figure

    panels: list[Callable[[Any], None]] = []
    predictions = aligned.predictions[0]
    scores = predictions.scores[predictions.labels >= 0]
    if len(scores) and scores.min() >= 0 and scores.max() <= 1:
        panels.append(lambda axes: _reliability(axes, aligned))
    if any(map(_BY_BIN.fullmatch, report.values)):
        panels.append(lambda axes: _by_frequency(axes, report))
    if not panels:
        raise ConfigError(
            "there is nothing to plot: scores outside 0 to 1 cannot be probabilities, and metrics "
            "by label frequency need --train DATA"
        )
    figure = Figure(figsize=(4.5 * len(panels), 4), layout="constrained")
    for axes, draw in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        draw(axes)
        axes.spines[["top", "right"]].set_visible(False)
    save_figure(path, figure)


def save_figure(path: Path, figure: Any) -> None:
    """Write a matplotlib figure as a .png, .svg or .pdf file, all of it or nothing."""
    import matplotlib as mpl

    # No date and no random ids inside, so that equal numbers give equal files.
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    try:
        with mpl.rc_context({"svg.hashsalt": "multitudes"}), replaced_file(path) as file:
            kind = path.suffix.lower()
            figure.savefig(file, format=kind[1:], dpi=150, metadata=dates.get(kind))
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror or error}") from error
    except HeldError as error:
        raise ConfigError(f"cannot write {path}: {error} is writing it") from error


def _reliability(axes: Any, aligned: Aligned) -> None:
    """Draw the share of true labels against the score, in bins of equally many labels."""
    from multitudes.scores import reliability

    found = reliability(aligned.predictions[0].top(RANKS), aligned.truth.Y)
    axes.plot([0, 1], [0, 1], color="gray", linewidth=1, linestyle=":")
    axes.plot(found.predicted, found.observed, marker="o", color=COLORS[0])
    axes.set(
        xlabel="score",
        ylabel="share of labels that are true",
        title=f"reliability, {RANKS} best labels: error {100 * found.error:.1f} %",
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
    )


def _by_frequency(axes: Any, report: Report) -> None:
    """Draw precision and recall of frequent and rare labels, at the largest k."""
    cells = {match.groups(): v for n, v in report.values.items() if (match := _BY_BIN.fullmatch(n))}
    k = max((k for _, _, k in cells), key=int)
    bins = list(dict.fromkeys(name for _, name, _ in cells))
    for number, metric in enumerate("PR"):
        heights = [100 * cells[metric, name, k] for name in bins]
        places = [place + 0.4 * (number - 0.5) for place in range(len(bins))]
        axes.bar(places, heights, width=0.38, color=COLORS[number], label=f"{metric}@{k}")
    axes.set_xticks(range(len(bins)), bins)
    axes.set(xlabel="labels by their number of training texts", ylabel="percent")
    axes.set_title(f"frequent and rare labels, at {k}")
    axes.margins(y=0.12)
    axes.legend(frameon=False, loc="upper left", ncols=2)
