"""Figure of `benchmarks.miml`: label embeddings as images, like Figures 5 and 10 of the paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.miml_study import SETTINGS, Digits, divided
from multitudes.errors import require
from multitudes.types import FloatArray


def draw(folder: Path) -> Path:
    """Embeddings of the ten digits from bags of 4 and of 50, above the true class means."""
    require("matplotlib", extra="dev")
    from matplotlib.figure import Figure

    rows: dict[str, FloatArray] = {}
    for setting in SETTINGS[:2]:
        data = divided(setting, 0)
        rows["class means"] = class_means(data)
        for method, found in data.embeddings().items():
            rows[f"{method}, bags of {setting.size}"] = found
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
    path = folder / "miml-embeddings.png"
    figure.savefig(path, dpi=120, metadata={"Software": None})
    return path


def class_means(data: Digits) -> FloatArray:
    """What the embeddings should come near to: the mean image of each digit, of unit length."""
    sums = data.train.Y.T @ data.train.X
    means: FloatArray = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return means
