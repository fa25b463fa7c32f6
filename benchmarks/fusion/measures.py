"""The measures of the shared task LLMs4Subjects, all right labels counted, unknown ones too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.types import Predictions

DEEPEST = 20
DEPTHS = (5, 10, 15, 20)


@dataclass(frozen=True)
class Truth:
    """The right labels of instances.

    Parameters
    ----------
    Y : CSR (n_instances, n_labels)
        Those that training knows.
    n_right : int array (n_instances,)
        How many there are, those that no training text has included.
    kinds : sequence of str
        Language and type of each record, e.g. "de/Article".
    """

    Y: Any
    n_right: np.ndarray
    kinds: Sequence[str]


def per_instance(found: Predictions, truth: Truth) -> dict[str, np.ndarray]:
    """P at 1, F1 at 5, nDCG at 5 and 20 and recall at 5 to 20 of each instance."""
    hits = hits_of(found, truth.Y)
    n = truth.n_right
    of_recall = {f"R@{k}": hits[:, :k].sum(axis=1) / np.maximum(n, 1) for k in DEPTHS}
    return {
        "P@1": hits[:, 0].astype(float),
        "F1@5": 2 * hits[:, :5].sum(axis=1) / (5 + n),
        "nDCG@5": _ndcg(hits[:, :5], n),
        "nDCG@20": _ndcg(hits, n),
        **of_recall,
        "R@5-20": np.mean(list(of_recall.values()), axis=0),
    }


def _ndcg(hits: np.ndarray, n_right: np.ndarray) -> np.ndarray:
    depth = hits.shape[1]
    gains = 1 / np.log2(np.arange(2, depth + 2))
    ideal = np.concatenate([[0], np.cumsum(gains)])[np.minimum(n_right, depth)]
    return (hits * gains).sum(axis=1) / np.where(ideal > 0, ideal, 1)


def hits_of(found: Predictions, Y: Any) -> np.ndarray:
    """Whether each of the best labels is right: bool array (n_instances, 20)."""
    labels = found.top(DEEPEST).labels
    rows, places = np.nonzero(labels >= 0)
    guessed = sp.csr_array(
        (places + 1.0, (rows, labels[rows, places])), shape=(len(labels), Y.shape[1])
    )
    right = sp.coo_array(guessed.multiply(Y > 0))
    hits = np.zeros((len(labels), DEEPEST), bool)
    hits[right.row, right.data.astype(int) - 1] = True
    return hits


def summary(found: Predictions, truth: Truth) -> dict[str, Any]:
    """Means over all instances, and of F1 and nDCG by language and type of record."""
    values = per_instance(found, truth)
    means = {name: round(float(value.mean()), 4) for name, value in values.items()}
    kinds = np.array(truth.kinds)
    groups = sorted({*kinds, *(kind.split("/")[0] for kind in kinds)}) if len(kinds) else []
    means["by kind"] = {
        group: {
            name: round(float(values[name][chosen].mean()), 4) for name in ("F1@5", "nDCG@20")
        } | {"n": int(chosen.sum())}
        for group in groups
        for chosen in [np.char.startswith(kinds, group)]
    }  # fmt: skip
    return means
