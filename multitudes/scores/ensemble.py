"""Several models' predictions of the same instances, made one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitudes import memory
from multitudes.errors import DataError
from multitudes.types import Predictions, blank_lists
from multitudes.validation import checked_count, checked_predictions

# Labels each model should list for the average; a label outside would need to lead in another.
CANDIDATES = 100


def average(predictions: Sequence[Predictions], *, top_k: int) -> Predictions:
    """Rank the labels of each instance by their mean score.

    A model that does not list a label counts as 0 for it, so scores should be such that 0 means
    "surely not": hinge and sigmoid scores are, raw margins are not.

    Parameters
    ----------
    predictions : sequence of Predictions
        One per model, over the same instances and labels; let each list generously more than
        `top_k`.
    top_k : int
        Labels kept per instance.
    """
    from multitudes.kernels.scores import average_lists

    if not len(predictions):
        raise DataError("there are no predictions to average")
    top_k = checked_count(top_k, "top_k")
    predictions = [checked_predictions(given) for given in predictions]
    first = predictions[0]
    for other in predictions[1:]:
        if len(other) != len(first) or other.n_labels != first.n_labels:
            raise DataError(
                f"predictions must be of the same instances and labels, got {len(first)} x "
                f"{first.n_labels} and {len(other)} x {other.n_labels}"
            )
    memory.ask(8 * len(first) * top_k + 4 * first.n_labels, f"the best {top_k:,} labels of each")
    labels = np.hstack([p.labels for p in predictions])
    scores = np.hstack([p.scores for p in predictions])
    out_labels, out_scores = blank_lists(len(first), top_k)
    place = np.full(first.n_labels, -1, np.int32)
    average_lists(labels, scores, len(predictions), place, out_labels, out_scores)
    return Predictions(out_labels, out_scores, first.n_labels)
