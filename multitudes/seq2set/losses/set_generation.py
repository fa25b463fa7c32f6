"""OTSeq2Set's whole loss, from the decoder's states.

What it optimizes
    ``set_matching + transport_weight * transport``.
Inputs
    ``states`` float (b, N, z), what the output layer reads at each step; ``targets`` int64 (b, m),
    each instance's labels in any order, -1 for none, m <= N; ``output``, the last layer over V
    labels, of which `empty` is the empty one; ``embeddings`` float (V, d), the label embeddings, no
    gradient.
Reference
    OTSeq2Set, Eq. 17. Table 3's BM is a `transport_weight` of 0.
Relation to siblings
    Puts together `set_matching` and `transport`, both from one pass over the labels in blocks, and
    matches on the CPU while the device computes the transport.
Example
    >>> import torch
    >>> from multitudes.seq2set.network.label_softmax import OutputLayer
    >>> from multitudes.seq2set.losses.step_matching import Matcher
    >>> states = 10 * torch.eye(4)[None, [2, 1, 0]]  # three steps produce 2, 1 and 0, the empty one
    >>> targets, same = torch.tensor([[1, 2]]), torch.eye(4)
    >>> terms = set_generation_loss(
    ...     states, targets, OutputLayer(same), empty=0, matcher=Matcher(), embeddings=same
    ... )
    >>> round(terms["matching"].item(), 3), round(terms["transport"].item(), 3)  # a third is empty
    (0.0, 0.333)
"""

from __future__ import annotations

import torch
from torch import Tensor

from multitudes.errors import ConfigError
from multitudes.seq2set.losses.config import SetLossConfig
from multitudes.seq2set.losses.set_matching import set_matching_loss
from multitudes.seq2set.losses.step_matching import Matcher, check_room
from multitudes.seq2set.losses.transport import transport_loss
from multitudes.seq2set.network.label_softmax import OutputLayer, Scored, label_softmax

DEFAULT = SetLossConfig()


def set_generation_loss(
    states: Tensor,
    targets: Tensor,
    output: OutputLayer,
    *,
    empty: int,
    matcher: Matcher,
    embeddings: Tensor | None = None,
    config: SetLossConfig = DEFAULT,
    scored: Scored | None = None,
) -> dict[str, Tensor]:
    """Each term () by name and unweighted, and their sum as ``"loss"``.

    See the module for the inputs. `embeddings` are not needed with a `transport_weight` of 0. The
    steps that may be used are the matcher's, whatever ``config.scheme``. `scored` are products
    that were made already, see `label_softmax`.
    """
    check_room(targets.shape[1], states.shape[1])
    if config.transport_weight and embeddings is None:
        raise ConfigError(
            f"transport_weight is {config.transport_weight}, which takes label embeddings: give "
            "embeddings, or set transport_weight to 0"
        )
    targets = ascending(targets)  # (b, m)
    has_target = targets >= 0  # (b, m)
    wanted = torch.cat([targets, targets.new_full((len(targets), 1), empty)], dim=1)  # (b, m + 1)
    log_probs, expected = label_softmax(
        states,
        output,
        wanted.unsqueeze(1),
        embeddings=embeddings if config.transport_weight else None,
        labels_at_once=config.labels_at_once,
        scored=scored,
    )  # (b, N, m + 1), (b, N, d)
    sizes = [targets.shape[1], 1]
    of_targets, of_empty = torch.split_with_sizes(log_probs, sizes, 2)  # (b, N, m), (b, N, 1)
    matching = matcher.start(of_targets.detach().exp(), has_target.sum(dim=1))
    terms: dict[str, Tensor] = {}
    if expected is not None and embeddings is not None:
        near = embeddings.detach()[targets.clamp(min=0)]  # (b, m, d)
        terms["transport"] = transport_loss(expected, near, has_target, config=config)
    terms["matching"] = set_matching_loss(
        of_targets, of_empty.squeeze(2), matching.steps(), empty_weight=config.empty_weight
    )
    total = terms["matching"]
    if "transport" in terms:
        total = total + config.transport_weight * terms["transport"]
    return {**terms, "loss": total}


def ascending(targets: Tensor) -> Tensor:
    """Each row's labels (b, m) by id, -1 last: where matchings tie, any order gives the same."""
    last = torch.iinfo(targets.dtype).max
    ordered = (targets & last).sort(dim=1).values  # (b, m): -1 has all bits of the largest number
    return ordered.masked_fill_(ordered == last, -1)
