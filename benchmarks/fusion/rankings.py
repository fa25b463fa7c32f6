"""Rankings of an encoder in a file, as they come from a machine with a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.types import Predictions

TEMPERATURE = 0.05  # of similarities, when neighbors vote
KINDS = ("prototypes", "classifier")


def save(path: Path, found: dict[str, Predictions], neighbors: tuple[Any, Any]) -> None:
    """Write rankings by prototypes and classifier, and the nearest training instances."""
    arrays = {"neighbors.ids": neighbors[0], "neighbors.scores": neighbors[1].astype(np.float16)}
    for kind, ranking in found.items():
        arrays[f"{kind}.ids"] = ranking.labels
        arrays[f"{kind}.scores"] = ranking.scores.astype(np.float16)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)


def load(path: Path, Y: Any) -> dict[str, Predictions]:
    """Read what `save` wrote; neighbors vote for their labels `Y`."""
    with np.load(path) as arrays:
        found = {
            kind: Predictions(
                arrays[f"{kind}.ids"], arrays[f"{kind}.scores"].astype(np.float32), Y.shape[1]
            )
            for kind in KINDS
        }
        nearest, scores = arrays["neighbors.ids"], arrays["neighbors.scores"]
        width = found[KINDS[0]].labels.shape[1]
        return found | {"neighbors": votes(nearest, scores, Y, top_k=width)}


def votes(nearest: np.ndarray, scores: np.ndarray, Y: Any, *, top_k: int) -> Predictions:
    """Labels of the nearest training instances, each with its share of their weight."""
    scores = scores.astype(np.float32)
    weights = np.exp((scores - scores[:, :1]) / TEMPERATURE)
    weights /= weights.sum(axis=1, keepdims=True)
    n, k = nearest.shape
    starts = np.arange(0, n * k + 1, k)
    shares = sp.csr_array((weights.ravel(), nearest.ravel(), starts), shape=(n, Y.shape[0]))
    return Predictions.from_csr(sp.csr_array(shares @ Y), top_k=top_k)
