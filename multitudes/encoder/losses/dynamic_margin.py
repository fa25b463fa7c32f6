"""Triplet loss with a clipped dynamic margin: PRIME's default.

What it optimizes
    ``max(0, s_n - s_p + margin)`` with ``margin = clamp(|s_p - s_n|, gamma_min, gamma_max)``, kept
    out of the gradient. A negative that is ahead is penalized twice as much as it is ahead, within
    bounds; a positive that is ahead by gamma_min is left alone.
Inputs
    ``similarity`` float (r, c); ``positives`` int64 (r, p) columns, -1 for absent; ``known`` bool
    (r, c), the pairs that are never negatives. Rows without a positive or a negative do not count.
Reference
    PRIME, section 3.1: the first line of Eq. 13, which is what the released code computes; without
    clipping, Eq. 11.
Relation to siblings
    `triplet` with a margin of gamma_min has the same gradient on each triplet, and the same softmax
    weights: unless a gradient flows through these, only the value differs. `literal_hinge` is
    Eq. 3, the cases of Eq. 13 as printed: for a positive ahead by less than gamma_min these say
    ``s_p - s_n + gamma_min`` where the line above gives ``s_n - s_p + gamma_min``. The gradient is
    inverted there (Eq. 14) and training collapses.
Example
    >>> import torch
    >>> similarity = torch.tensor([[0.4, 0.6, 0.1]])
    >>> positives, known = torch.tensor([[0]]), torch.tensor([[True, False, False]])
    >>> round(dynamic_margin_loss(similarity, positives, known).item(), 4)  # ahead by 0.2, twice
    0.4
"""

from __future__ import annotations

import torch
from torch import Tensor

from multitudes.encoder.losses.config import LossConfig
from multitudes.encoder.losses.triplets import batch_loss, mine_triplets

DEFAULT = LossConfig()


def dynamic_margin_loss(
    similarity: Tensor, positives: Tensor, known: Tensor, *, config: LossConfig = DEFAULT
) -> Tensor:
    """Loss () of a batch with margins from gamma_min to gamma_max; see the module for the inputs.

    ``config.margin == "literal"`` takes Eq. 3 as printed, to study why not to.
    """
    triplets = mine_triplets(similarity, positives, known, n_negatives=config.n_negatives)
    hinge = literal_hinge if config.margin == "literal" else dynamic_hinge
    return batch_loss(hinge(*triplets.pairs, config), triplets, config)


def dynamic_hinge(positive: Tensor, negative: Tensor, config: LossConfig) -> Tensor:
    """First line of Eq. 13 for similarities of shapes that broadcast, e.g. (r, p, 1), (r, 1, k).

    With gamma from 0 to 2 nothing is clipped: Eq. 11. Where the margin is the difference itself the
    sum is exactly 0, and so is relu's gradient.
    """
    margin = (positive - negative).detach().abs().clamp(config.gamma_min, config.gamma_max)
    return torch.relu(negative - positive + margin)


def literal_hinge(positive: Tensor, negative: Tensor, config: LossConfig) -> Tensor:
    """Eq. 3, the printed cases of Eq. 13: pulls negatives in where 0 < s_p - s_n < gamma_min."""
    ahead = positive - negative
    uncertain = torch.where(ahead < config.gamma_min, ahead + config.gamma_min, 0.0)
    behind = -ahead + (-ahead).detach().clamp(config.gamma_min, config.gamma_max)
    return torch.where(ahead > 0, uncertain, behind)
