"""Triplet loss with a fixed margin.

What it optimizes
    A positive should be more similar to its row than each negative, by `margin` at least:
    ``max(0, s_n - s_p + margin)``.
Inputs
    ``similarity`` float (r, c); ``positives`` int64 (r, p) columns, -1 for absent; ``known`` bool
    (r, c), the pairs that are never negatives. Rows without a positive or a negative do not count.
Reference
    PRIME, Eq. 1 and 2 (gradient: Eq. 9); Schroff et al., FaceNet, CVPR 2015; Dahiya et al., NGAME,
    WSDM 2023. Eq. 1 sums over all negatives: here, over the `n_negatives` hardest.
Relation to siblings
    `dynamic_margin` lets the margin follow the triplet; `softmax` has no margin.
Example
    >>> import torch
    >>> similarity = torch.tensor([[0.9, 0.5, 0.8]])
    >>> positives, known = torch.tensor([[0]]), torch.tensor([[True, False, False]])
    >>> round(triplet_loss(similarity, positives, known).item(), 4)  # 0.9 - 0.8 is 0.2 short
    0.2
"""

from __future__ import annotations

import torch
from torch import Tensor

from multitudes.encoder.losses.config import LossConfig
from multitudes.encoder.losses.triplets import batch_loss, mine_triplets

DEFAULT = LossConfig(margin="fixed")


def triplet_loss(
    similarity: Tensor, positives: Tensor, known: Tensor, *, config: LossConfig = DEFAULT
) -> Tensor:
    """Loss () of a batch with `config.fixed_margin`; see the module for the inputs."""
    triplets = mine_triplets(similarity, positives, known, n_negatives=config.n_negatives)
    return batch_loss(fixed_hinge(*triplets.pairs, config), triplets, config)


def fixed_hinge(positive: Tensor, negative: Tensor, config: LossConfig) -> Tensor:
    """Eq. 2 for similarities of shapes that broadcast, e.g. (r, p, 1) and (r, 1, k)."""
    return torch.relu(negative - positive + config.fixed_margin)
