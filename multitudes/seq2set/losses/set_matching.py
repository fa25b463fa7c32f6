"""Cross-entropy on targets in the order that suits the predictions best.

What it optimizes
    Each target is to be likely at the step it was matched to, the empty label at all other steps:
    the mean of ``-log p``, weighted 1 for targets and `empty_weight` for empty steps, over all
    steps of the batch.
Inputs
    ``target_log_probs`` float (b, N, m), of each target at each step; ``empty_log_probs`` float (b,
    N); ``steps`` int64 (b, m), the step of each target, all different, -1 where there is none: see
    `Matcher`.
Reference
    OTSeq2Set, Eq. 13. It shows a sum; the released code takes the weighted mean over the batch.
Relation to siblings
    `sequence` has the targets in a given order. Which step belongs to which target is settled
    outside, without gradient, so that a device can go on while a CPU does it.
Example
    >>> import torch
    >>> target = torch.tensor([[[0.9], [0.3]]]).log()  # one target, likely at the first step
    >>> empty = torch.tensor([[0.1, 0.5]]).log()
    >>> loss = set_matching_loss(target, empty, torch.tensor([[0]]), empty_weight=0.2)
    >>> round(loss.item(), 4)  # (-log 0.9 - 0.2 log 0.5) / 1.2
    0.2033
"""

from __future__ import annotations

import torch
from torch import Tensor


def set_matching_loss(
    target_log_probs: Tensor, empty_log_probs: Tensor, steps: Tensor, *, empty_weight: float = 0.2
) -> Tensor:
    """Loss () of a batch; see the module for the inputs."""
    n, n_steps, _ = target_log_probs.shape
    number = torch.arange(n_steps, device=steps.device)[:, None]  # (N, 1)
    elsewhere = number != steps[:, None]  # (b, N, m)
    is_empty = elsewhere.all(dim=2)  # (b, N)
    of_targets = target_log_probs.masked_fill(elsewhere, 0.0).sum()
    of_empty = empty_log_probs.masked_fill(~is_empty, 0.0).sum()
    n_empty = is_empty.sum()
    weight = (n * n_steps - n_empty) + empty_weight * n_empty
    return -(of_targets + empty_weight * of_empty) / weight
