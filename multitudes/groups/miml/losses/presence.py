"""PresenceLoss: whether a bag lists a label, for each label by itself."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from multitudes.groups.miml.network import pooled


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
