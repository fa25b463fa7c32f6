"""ProportionLoss: a bag's logits against the shares of its list-merged labels."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from multitudes.groups.miml.network import pooled


class ProportionLoss(nn.Module):
    """Cross-entropy between softmax(pooled logits) and the share of each label in a bag's list.

    What it optimizes
    -----------------
    The pooled logits of Eq. 7 rank labels by how often a bag lists them. With one instance and one
    label this is ordinary softmax classification, so that bags and single instances are learned
    alike; with lists in which every label occurs (large groups) the shares still tell bags apart,
    where presence does not.

    Inputs
    ------
    logits : Tensor (n_bags, largest bag, n_labels)
    members : int64 Tensor (n_bags, largest bag), -1 is padding
    counts : Tensor (n_bags, n_labels), every row with a label

    Reference
    ---------
    Our reading of section 7.3: the paper names no loss, but list-merged labels, a length-l logit
    and accuracy as the measure.

    Relation to siblings
    --------------------
    `PresenceLoss` takes labels one by one and forgets counts; `CountLoss` compares the same shares
    with the mean over instances instead of their maximum.

    Example
    -------
    >>> logits = torch.tensor([[[2.0, 0.0], [0.0, 2.0]]])
    >>> ProportionLoss()(logits, torch.tensor([[0, 1]]), torch.tensor([[1.0, 1.0]]))
    tensor(0.6931)
    """

    needs_labels = True

    def forward(self, logits: Tensor, members: Tensor, counts: Tensor) -> Tensor:
        """The mean over bags."""
        shares = counts / counts.sum(dim=1, keepdim=True)  # (bags, labels)
        chances = torch.log_softmax(pooled(logits, members), dim=1)  # (bags, labels)
        return -(shares * chances).sum(dim=1).mean()
