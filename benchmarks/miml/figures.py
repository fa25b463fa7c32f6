"""Label embeddings of the digits as images, like the paper's Figures 5 and 10."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.evidence.of_miml import MASKS
from benchmarks.figures import saved
from benchmarks.miml.digits import class_means, divided
from multitudes.errors import require
from multitudes.types import FloatArray

SHOWN = {"bags of 4": 4, "bags of 50": 50}


def draw(folder: Path) -> Path:
    """Embeddings of the ten digits from bags of 4 and of 50, above the true class means."""
    require("matplotlib", extra="dev")
    from matplotlib.figure import Figure

    rows: dict[str, FloatArray] = {"class means": class_means(0)}
    for bags, size in SHOWN.items():
        problem = divided(size, 1, 0)
        for method, choice in MASKS.items():
            rows[f"{method}, {bags}"] = problem.embeddings(choice)
    figure = Figure(figsize=(8.4, 0.85 * len(rows)), layout="constrained")
    panels = figure.subplots(len(rows), 10)
    for line, (name, embeddings) in zip(panels, rows.items(), strict=True):
        for axes, embedding in zip(line, embeddings, strict=True):
            limit = float(np.abs(embedding).max())
            axes.imshow(embedding.reshape(8, 8), cmap="gray", vmin=-limit, vmax=limit)
            axes.set_xticks([])
            axes.set_yticks([])
        line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
    for digit, axes in enumerate(panels[0]):
        axes.set_title(str(digit), fontsize=9)
    folder.mkdir(parents=True, exist_ok=True)
    return saved(figure, folder / "miml-embeddings.png")
