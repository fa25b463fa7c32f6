"""Cross-entropy on targets in a given order: the loss of the sequence baselines.

What it optimizes
    The t-th target is to be likely at step t: the mean of ``-log p`` over all targets of the batch.
Inputs
    ``states`` float (b, N, z), what the output layer reads at each step; ``targets`` int64 (b, N),
    labels in their order, then the end symbol, then -1, which does not count; ``output``, the last
    layer over V labels; ``excluded`` int64 (b, N, e), optional, labels whose probability is set to
    0 at a step, -1 for none.
Reference
    OTSeq2Set, section 3.3: Seq2Seq (Bahdanau et al., 2015), MLC2Seq (Nam et al., 2017: frequent to
    rare), SGM (Yang et al., 2018: labels already produced are excluded).
Relation to siblings
    `set_matching` finds the order itself, and has empty steps instead of an end symbol.
Example
    >>> import torch
    >>> from multitudes.seq2set.network.label_softmax import OutputLayer
    >>> output = OutputLayer(torch.tensor([[0.0], [2.0]]))
    >>> loss = sequence_loss(torch.ones(1, 2, 1), torch.tensor([[1, -1]]), output)
    >>> round(loss.item(), 4)  # log(1 + exp(-2))
    0.1269
"""

from __future__ import annotations

from torch import Tensor

from multitudes.seq2set.network.label_softmax import OutputLayer, label_softmax


def sequence_loss(
    states: Tensor,
    targets: Tensor,
    output: OutputLayer,
    *,
    excluded: Tensor | None = None,
    labels_at_once: int | None = None,
) -> Tensor:
    """Loss () of a batch, 0 without a target; see the module for the inputs."""
    log_probs, _ = label_softmax(
        states, output, targets.unsqueeze(2), excluded=excluded, labels_at_once=labels_at_once
    )  # (b, N, 1), 0 where there is no target
    return -log_probs.sum() / (targets >= 0).sum().clamp(min=1)
