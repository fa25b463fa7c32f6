"""Prototypes should tell positives from negatives better than label texts do.

What it optimizes
    By `margin`, a row's similarity to the prototype of a positive should be above that to its text,
    and to the prototype of a negative below that to its text:
    ``(mean max(0, s_p - b_p + margin) + mean max(0, b_n - s_n + margin)) / 2``
    with b the similarity to the prototype and s to the text. Each mean is over its non-zero terms,
    as in the released code; with none it is 0.
Inputs
    ``prototype_similarity`` and ``text_similarity`` float (r, c); ``positives`` int64 (r, p)
    columns, -1 for absent; ``known`` bool (r, c), the pairs that are never negatives. The negatives
    are those hardest for the prototypes.
Reference
    PRIME, Eq. 6 and 7, after Mohan et al., OAK, ICML 2024. The equations show no max(0, .); without
    it the term would have no lower end. The released code has it.
Relation to siblings
    The triplet losses compare two labels in one space, this one compares two spaces on one label.
    It is a small part of `multi_objective`, of no use alone.
Example
    >>> import torch
    >>> texts, prototypes = torch.tensor([[0.5, 0.4]]), torch.tensor([[0.55, 0.1]])
    >>> positives, known = torch.tensor([[0]]), torch.tensor([[True, False]])
    >>> round(prototype_regularizer(prototypes, texts, positives, known).item(), 4)
    0.025
"""

from __future__ import annotations

import torch
from torch import Tensor

from multitudes.encoder.losses.config import LossConfig
from multitudes.encoder.losses.triplets import Triplets, mine_triplets

DEFAULT = LossConfig()


def prototype_regularizer(
    prototype_similarity: Tensor,
    text_similarity: Tensor,
    positives: Tensor,
    known: Tensor,
    *,
    config: LossConfig = DEFAULT,
) -> Tensor:
    """Term () of a batch with `config.regularizer_margin`; see the module for the inputs."""
    prototypes = mine_triplets(
        prototype_similarity, positives, known, n_negatives=config.n_negatives
    )
    texts = prototypes.within(text_similarity)
    return compare_spaces(prototypes, texts, margin=config.regularizer_margin)


def compare_spaces(prototypes: Triplets, texts: Triplets, *, margin: float) -> Tensor:
    """The term () from the same pairs in both spaces."""
    positive = torch.relu(texts.positive - prototypes.positive + margin)  # (r, p), Eq. 6
    negative = torch.relu(prototypes.negative - texts.negative + margin)  # (r, k), Eq. 7
    positive_mean = _mean_of_nonzero(positive, prototypes.has_positive)
    negative_mean = _mean_of_nonzero(negative, prototypes.has_negative)
    return (positive_mean + negative_mean) / 2


def _mean_of_nonzero(values: Tensor, present: Tensor) -> Tensor:
    """Mean of the positive values among those present; 0 if there are none."""
    kept = torch.where(present, values, 0.0)
    return kept.sum() / (kept > 0).sum().clamp(min=1)
