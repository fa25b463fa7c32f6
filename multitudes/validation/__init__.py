"""The door: checks of inputs that all estimators share; what has passed them, kernels trust.

Arrays come out of it contiguous, of the type that kernels read, within their limits, and with
indices that nobody else can change during a call.
"""

from __future__ import annotations

from multitudes.validation.matrices import (
    checked_features,
    checked_hard_negatives,
    checked_labels,
    checked_pairs,
    checked_sparse,
    checked_truth,
    checked_vectors,
    label_matrix,
)
from multitudes.validation.numbers import (
    checked_count,
    checked_index,
    checked_label,
    checked_label_ids,
    checked_number,
    checked_removal,
    checked_weights,
)
from multitudes.validation.predictions import checked_predictions

__all__ = [
    "checked_count",
    "checked_features",
    "checked_hard_negatives",
    "checked_index",
    "checked_label",
    "checked_label_ids",
    "checked_labels",
    "checked_number",
    "checked_pairs",
    "checked_predictions",
    "checked_removal",
    "checked_sparse",
    "checked_truth",
    "checked_vectors",
    "checked_weights",
    "label_matrix",
]
