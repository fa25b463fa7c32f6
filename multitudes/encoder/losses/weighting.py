"""From the losses of single triplets to the loss of a batch."""

from __future__ import annotations

import torch
from torch import Tensor

from multitudes.encoder.losses.loss_config import LossConfig
from multitudes.encoder.losses.mining import FAR, Triplets


def batch_loss(triplet_losses: Tensor, triplets: Triplets, config: LossConfig) -> Tensor:
    """Sum over negatives, mean over positives, mean over rows.

    Parameters
    ----------
    triplet_losses : float tensor (r, p, k)
        Loss of each triplet; those that lack an end are left out here.
    triplets : Triplets
        What the losses were computed from.
    config : LossConfig
        With `softmax_weights` the sum over negatives is weighted: a row's violating negatives by
        the softmax of their similarities / `temperature`.

    Returns
    -------
    float tensor ()
        0 where no row has both a positive and a negative. Rows that lack either do not count.
    """
    losses = torch.where(triplets.valid, triplet_losses, 0.0)  # (r, p, k)
    if config.softmax_weights:
        losses = losses * softmax_weights(losses, triplets, config)
    return row_mean(losses.sum(dim=2), triplets.has_positive, triplets.has_negative.any(dim=1))


def softmax_weights(losses: Tensor, triplets: Triplets, config: LossConfig) -> Tensor:
    """Weights (r, p, k) over the negatives of each positive; those without loss get about none."""
    _, negative = triplets.pairs  # (r, 1, k)
    if config.detach_weights:
        negative = negative.detach()
    logits = torch.where(losses > 0, negative / config.temperature, FAR)  # (r, p, k)
    return logits.softmax(dim=2)


def row_mean(losses: Tensor, has_positive: Tensor, has_negative: Tensor) -> Tensor:
    """Mean over the positives of a row, then over the rows that have a positive and a negative.

    Parameters
    ----------
    losses : float tensor (r, p)
        Loss of each positive.
    has_positive : bool tensor (r, p)
        Which positives there are.
    has_negative : bool tensor (r,)
        Which rows have a negative.
    """
    counted = has_positive & has_negative.unsqueeze(1)  # (r, p)
    n_positives = counted.sum(dim=1)  # (r,)
    per_row = torch.where(counted, losses, 0.0).sum(dim=1) / n_positives.clamp(min=1)  # (r,)
    return per_row.sum() / (n_positives > 0).sum().clamp(min=1)
