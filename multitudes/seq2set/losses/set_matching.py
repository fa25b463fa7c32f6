"""Cross-entropy on targets in the order that suits the predictions best.

What it optimises
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
    matched = steps >= 0  # (b, m)
    at = steps.clamp(min=0)  # (b, m)
    found = target_log_probs.gather(1, at.unsqueeze(1)).squeeze(1)  # (b, m)
    # Targets that are not there take a step behind the last, which is then left out.
    taken = matched.new_zeros((n, n_steps + 1))  # (b, N + 1)
    taken = taken.scatter(1, torch.where(matched, steps, n_steps), True)[:, :n_steps]  # (b, N)
    weights = torch.where(taken, 0.0, empty_weight).to(found.dtype)  # (b, N)
    likelihood = torch.where(matched, found, 0.0).sum() + (weights * empty_log_probs).sum()
    return -likelihood / (matched.sum() + weights.sum())
