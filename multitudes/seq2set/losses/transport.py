"""Optimal transport distance between predicted and true labels, in the space of label embeddings.

What it optimizes
    Predictions are to be near the targets even where they miss them: the least cost of moving the
    steps' expected label embeddings, 1 / N each, onto the targets' embeddings, 1 / n each. The cost
    is the cosine distance.
Inputs
    ``expected`` float (b, N, d), the mean of the label embeddings under each step's distribution;
    ``target_embeddings`` float (b, m, d); ``has_target`` bool (b, m). Instances without a target do
    not count.
Reference
    OTSeq2Set, Eq. 14 to 16; Xie et al., UAI 2020. Plans are kept out of the gradient, as in the
    released code: where they are optimal, the gradient is that of the distance.
Relation to siblings
    `set_matching` reads one probability per step, this one all of them; it gives no step a label of
    its own, so it is of no use alone. Its weight is 8 beside 1 for `set_matching`.
Example
    >>> import torch
    >>> targets = torch.eye(3)[None, :2]  # two targets
    >>> there = torch.ones(1, 2, dtype=torch.bool)
    >>> round(transport_loss(targets.flip(1), targets, there).item(), 3)  # the order is free
    0.0
    >>> round(transport_loss(torch.eye(3)[None, 2:], targets, there).item(), 3)
    1.0
"""

from __future__ import annotations

import torch
from torch import Tensor

from multitudes.deep.ops.transport import Iterations, transport_distances
from multitudes.seq2set.losses.config import SetLossConfig

DEFAULT = SetLossConfig()


def transport_loss(
    expected: Tensor,
    target_embeddings: Tensor,
    has_target: Tensor,
    *,
    config: SetLossConfig = DEFAULT,
) -> Tensor:
    """Mean distance () of a batch; see the module for the inputs."""
    iterations = Iterations(
        config.transport_beta, config.transport_steps, config.transport_inner_steps
    )
    with torch.autocast(expected.device.type, enabled=False):
        distances = transport_distances(expected, target_embeddings, has_target, iterations)  # (b,)
    return distances.sum() / has_target.any(dim=1).sum().clamp(min=1)
