"""Triplets of a batch, each row's positives and hardest in-batch negatives, and their loss."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from multitudes.encoder.losses.config import LossConfig

FAR = -1e4
"""A similarity that no pair has; finite, so that no gradient becomes NaN."""


@dataclass(frozen=True)
class Triplets:
    """Similarities of r rows to p positives and k negatives each.

    Parameters
    ----------
    picked : float tensor (r, p + k)
        Similarity to each positive, then to each negative, in no order.
    has_positive : bool tensor (r, p)
        False where a row has fewer than p positives.
    has_negative : bool tensor (r, k)
        False where a row has fewer than k negatives.
    columns : int64 tensor (r, p + k)
        Where these similarities stand in their matrix.
    """

    picked: Tensor
    has_positive: Tensor
    has_negative: Tensor
    columns: Tensor

    @property
    def positive(self) -> Tensor:
        """Similarity (r, p) to each positive."""
        return self.picked[:, : self.has_positive.shape[1]]

    @property
    def negative(self) -> Tensor:
        """Similarity (r, k) to each negative."""
        return self.picked[:, self.has_positive.shape[1] :]

    @property
    def pairs(self) -> tuple[Tensor, Tensor]:
        """Positives (r, p, 1) and negatives (r, 1, k): their arithmetic is over all triplets."""
        return self.positive.unsqueeze(2), self.negative.unsqueeze(1)

    @property
    def valid(self) -> Tensor:
        """Bool (r, p, k): both ends of the triplet are there."""
        return self.has_positive.unsqueeze(2) & self.has_negative.unsqueeze(1)

    def within(self, similarity: Tensor) -> Triplets:
        """The same pairs in another similarity matrix, (r, c)."""
        picked = similarity.gather(1, self.columns)  # (r, p + k)
        return Triplets(picked, self.has_positive, self.has_negative, self.columns)


def mine_triplets(
    similarity: Tensor, positives: Tensor, known: Tensor, *, n_negatives: int
) -> Triplets:
    """Each row's positives and its `n_negatives` most similar columns that are not known pairs.

    Parameters
    ----------
    similarity : float tensor (r, c)
        The gradient flows to the pairs picked from it.
    positives : int64 tensor (r, p)
        Columns of each row's positives; -1 where it has fewer. They are known pairs.
    known : bool tensor (r, c)
        Known positive pairs, which are never negatives.
    n_negatives : int
        Negatives of a row, if it has that many.
    """
    with torch.no_grad():
        # A GPU searches digit by digit; eleven bits tell the hardest, and the loss reads them all.
        kind = torch.float16 if similarity.is_cuda else similarity.dtype
        unknown = similarity.to(kind).masked_fill(known, FAR)  # (r, c)
        hardest = unknown.topk(min(n_negatives, similarity.shape[1]), dim=1, sorted=False)
    # One gather for both kinds: its backward pass writes one (r, c) matrix instead of two.
    columns = torch.cat([positives.clamp(min=0), hardest.indices], dim=1)  # (r, p + k)
    picked = similarity.gather(1, columns)  # (r, p + k)
    return Triplets(picked, positives >= 0, hardest.values > FAR / 2, columns)


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
