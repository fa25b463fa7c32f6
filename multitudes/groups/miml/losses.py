"""Losses over bags; `LOSSES` are the names a model knows them by."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

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


class PresenceLoss(nn.Module):
    """Binary cross-entropy of sigmoid(pooled logits), label by label.

    What it optimizes
    -----------------
    Labels that a bag lists above those it does not, each label by itself: right for set-merged
    labels and for instances with several labels. The ReLU of Eq. 7 keeps logits at 0 or above, so
    that sigmoid scores rank labels but never fall below one half.

    Inputs
    ------
    logits : Tensor (n_bags, largest bag, n_labels)
    members : int64 Tensor (n_bags, largest bag), -1 is padding
    counts : Tensor (n_bags, n_labels), above 0 where a bag lists a label; rows may be 0

    Reference
    ---------
    Feng and Zhou, Deep MIML Network, AAAI 2017, train with binary cross-entropy. (Their released
    code has a softmax over the labels of each instance before it, which Eq. 7 of the EAGLE paper
    does not have.)

    Relation to siblings
    --------------------
    `ProportionLoss` lets labels compete and honors counts.

    Example
    -------
    >>> import torch
    >>> logits = torch.tensor([[[4.0, 0.0], [0.0, 0.0]]])
    >>> PresenceLoss()(logits, torch.tensor([[0, 1]]), torch.tensor([[1.0, 0.0]]))
    tensor(0.3556)
    """

    needs_labels = False

    def forward(self, logits: Tensor, members: Tensor, counts: Tensor) -> Tensor:
        """The mean over bags and labels."""
        present = (counts > 0).to(logits.dtype)  # (bags, labels)
        return binary_cross_entropy_with_logits(pooled(logits, members), present)


class CountLoss(nn.Module):
    """Cross-entropy between the mean label probabilities of a bag and its list's shares.

    What it optimizes
    -----------------
    Probabilities of single instances whose sum over a bag is proportional to its counts: all
    instances explain the list together, not the strongest one alone. It needs list-merged labels;
    with set-merged ones it takes each listed label for equally frequent.

    Inputs
    ------
    logits : Tensor (n_bags, largest bag, n_labels)
    members : int64 Tensor (n_bags, largest bag), -1 is padding
    counts : Tensor (n_bags, n_labels), every row with a label

    Reference
    ---------
    Ardehaly and Culotta, Co-training for Demographic Classification Using Deep Learning from Label
    Proportions, ICDM workshops 2017. It is no part of the EAGLE paper.

    Relation to siblings
    --------------------
    `ProportionLoss` with the mean of probabilities in place of the maximum of logits. The maximum
    over instances of Eq. 7 is then only used for predicting bags.

    Example
    -------
    >>> logits = torch.tensor([[[4.0, 0.0], [0.0, 4.0]]])
    >>> CountLoss()(logits, torch.tensor([[0, 1]]), torch.tensor([[1.0, 1.0]]))
    tensor(0.6931)
    """

    needs_labels = True

    def forward(self, logits: Tensor, members: Tensor, counts: Tensor) -> Tensor:
        """The mean over bags."""
        shares = counts / counts.sum(dim=1, keepdim=True)  # (bags, labels)
        present = (members >= 0).unsqueeze(2)  # (bags, g, 1)
        chances = torch.log_softmax(logits, dim=2)  # (bags, g, labels)
        chances = chances.masked_fill(~present, -torch.inf)
        # The logarithm of the sum of exponentials, since a product of probabilities underflows.
        means = torch.logsumexp(chances, dim=1) - present.sum(dim=1).log()  # (bags, labels)
        return -(shares * means).sum(dim=1).mean()


BagLoss = ProportionLoss | PresenceLoss | CountLoss
LOSSES: dict[str, type[BagLoss]] = {
    "proportion": ProportionLoss,
    "presence": PresenceLoss,
    "counts": CountLoss,
}

__all__ = [
    "LOSSES",
    "BagLoss",
    "CountLoss",
    "PresenceLoss",
    "ProportionLoss",
]
