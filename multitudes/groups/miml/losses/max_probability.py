"""MaxProbabilityLoss: the label probabilities of each instance, then the best instance."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy

from multitudes.groups.miml.network import pooled


class MaxProbabilityLoss(nn.Module):
    """Binary cross-entropy of each label's largest probability within the bag.

    What it optimises
    -----------------
    For each label that a bag lists, some instance with that label and hardly any other; for each
    label it does not list, no such instance. Labels of one instance compete, which suits
    instances with one label.

    Inputs
    ------
    logits : Tensor (n_bags, largest bag, n_labels)
    members : int64 Tensor (n_bags, largest bag), -1 is padding
    counts : Tensor (n_bags, n_labels), above 0 where a bag lists a label; rows may be 0

    Reference
    ---------
    The released code of Feng and Zhou, Deep MIML Network, AAAI 2017: softmax over the labels of
    each instance between the two maxima, which Eq. 7 of the EAGLE paper does not have.

    Relation to siblings
    --------------------
    `PresenceLoss` without the softmax.

    Example
    -------
    >>> logits = torch.tensor([[[4.0, 0.0], [0.0, 4.0]]])
    >>> MaxProbabilityLoss()(logits, torch.tensor([[0, 1]]), torch.tensor([[1.0, 1.0]]))
    tensor(0.0181)
    """

    needs_labels = False

    def forward(self, logits: Tensor, members: Tensor, counts: Tensor) -> Tensor:
        """The mean over bags and labels."""
        present = (counts > 0).to(logits.dtype)  # (bags, labels)
        chances = pooled(torch.softmax(logits, dim=2), members)  # (bags, labels)
        # Rounding may carry a probability past 1, where the logarithm of the rest is undefined.
        return binary_cross_entropy(chances.clamp(max=1), present)
