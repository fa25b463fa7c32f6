"""CountLoss: how many instances of a bag have a label, from their own probabilities."""

from __future__ import annotations

import torch
from torch import Tensor, nn


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
