"""In-batch softmax: the loss of dense passage retrieval (DPR).

What it optimizes
    The probability of a positive among itself and all negatives of the batch:
    ``-log(e^(s_p/t) / (e^(s_p/t) + sum_n e^(s_n/t)))``.
Inputs
    ``similarity`` float (r, c); ``positives`` int64 (r, p) columns, -1 for absent; ``known`` bool
    (r, c), the pairs that are never negatives. Rows without a positive or a negative do not count.
Reference
    Karpukhin et al., Dense Passage Retrieval, EMNLP 2020, Eq. 2. Embeddings are of unit length
    here, hence the temperature; the other positives of a row are left out of the sum.
Relation to siblings
    `triplet` and `dynamic_margin` stop pushing once a margin is kept and look at the hardest
    negatives; this one never stops and looks at all.
Example
    >>> import torch
    >>> similarity = torch.tensor([[0.5, 0.5, 0.5]])
    >>> positives, known = torch.tensor([[0]]), torch.tensor([[True, True, False]])
    >>> round(softmax_loss(similarity, positives, known).item(), 4)  # one of two: log 2
    0.6931
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from multitudes.encoder.losses.config import LossConfig
from multitudes.encoder.losses.triplets import FAR, row_mean

DEFAULT = LossConfig(kind="softmax")


def softmax_loss(
    similarity: Tensor, positives: Tensor, known: Tensor, *, config: LossConfig = DEFAULT
) -> Tensor:
    """Loss () of a batch at `config.softmax_temperature`; see the module for the inputs."""
    temperature = config.softmax_temperature
    positive = similarity.gather(1, positives.clamp(min=0))  # (r, p)
    negatives = similarity.masked_fill(known, FAR) / temperature  # (r, c)
    all_negatives = negatives.logsumexp(dim=1, keepdim=True)  # (r, 1)
    losses = functional.softplus(all_negatives - positive / temperature)  # (r, p)
    return row_mean(losses, positives >= 0, ~known.all(dim=1))
