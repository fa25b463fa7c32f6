"""All terms of PRIME's loss, each of which can be switched off.

What it optimizes
    loss(instance, prototype) + loss(instance, label text) + loss(label text, instance)
    + regularizer_weight * regularizer, where loss is the one that `LossConfig` names.
Inputs
    ``instances`` float (b, d), ``texts`` (m, d) and ``prototypes`` (m, d), rows of unit length;
    ``targets``, see `make_targets`.
Reference
    PRIME, Eq. 5; its terms are taken away one by one in Table 6.
Relation to siblings
    Puts together `triplet`, `dynamic_margin` or `softmax` with `regularizer`. The second and third
    term share one similarity matrix, the regularizer and the first term their hard negatives.
Example
    >>> import torch
    >>> from multitudes.encoder.losses.targets import make_targets
    >>> both = torch.arange(4)
    >>> targets = make_targets(both[:, None], both, both, n_labels=4, random_state=0)
    >>> terms = multi_objective_loss(torch.eye(4), torch.eye(4), torch.eye(4), targets)
    >>> round(terms["query_to_label"].item(), 3), round(terms["regularizer"].item(), 3)
    (0.0, 0.1)
    >>> round(terms["loss"].item(), 3)
    0.01
"""

from __future__ import annotations

import torch
from torch import Tensor

from multitudes.encoder.losses.config import LossConfig
from multitudes.encoder.losses.dynamic_margin import dynamic_hinge, literal_hinge
from multitudes.encoder.losses.regularizer import compare_spaces
from multitudes.encoder.losses.softmax import softmax_loss
from multitudes.encoder.losses.targets import Targets
from multitudes.encoder.losses.triplet import fixed_hinge
from multitudes.encoder.losses.triplets import Triplets, batch_loss, mine_triplets

DEFAULT = LossConfig()
HINGES = {"dynamic": dynamic_hinge, "fixed": fixed_hinge, "literal": literal_hinge}


def multi_objective_loss(
    instances: Tensor,
    texts: Tensor,
    prototypes: Tensor,
    targets: Targets,
    *,
    config: LossConfig = DEFAULT,
) -> dict[str, Tensor]:
    """Each term () that is switched on, by name and unweighted, and their sum as ``"loss"``.

    See the module for the inputs. The terms carry gradients; detach what is only to be shown.
    """
    positives, known = targets.positives, targets.known
    terms: dict[str, Tensor] = {}
    triplets = None
    with torch.autocast(instances.device.type, enabled=False):
        if config.query_to_prototype:
            to_prototypes = _similarity(instances, prototypes)  # (b, m)
            if config.kind == "triplet" or config.regularizer_weight:
                triplets = mine_triplets(
                    to_prototypes, positives, known, n_negatives=config.n_negatives
                )
            terms["query_to_prototype"] = _loss(to_prototypes, positives, known, config, triplets)
        if config.query_to_label or config.label_to_query or config.regularizer_weight:
            to_texts = _similarity(instances, texts)  # (b, m)
        if config.query_to_label:
            terms["query_to_label"] = _loss(to_texts, positives, known, config)
        if config.label_to_query:
            # Copies: the search for the hardest goes along rows, over and over.
            turned, known_turned = to_texts.T.contiguous(), known.T.contiguous()  # (m, b) each
            terms["label_to_query"] = _loss(turned, targets.label_positives, known_turned, config)
        total = torch.stack(list(terms.values())).sum()  # ()
        if triplets is not None and config.regularizer_weight:
            terms["regularizer"] = compare_spaces(
                triplets, triplets.within(to_texts), margin=config.regularizer_margin
            )
            total = total + config.regularizer_weight * terms["regularizer"]
    return {**terms, "loss": total}


def _similarity(rows: Tensor, columns: Tensor) -> Tensor:
    """Inner products (r, c), float32 at least also under mixed precision: margins are small."""
    dtype = torch.promote_types(rows.dtype, torch.float32)
    return rows.to(dtype) @ columns.to(dtype).T


def _loss(
    similarity: Tensor,
    positives: Tensor,
    known: Tensor,
    config: LossConfig,
    triplets: Triplets | None = None,
) -> Tensor:
    """The configured loss () of one similarity matrix (r, c); `triplets` if they were mined."""
    if config.kind == "softmax":
        return softmax_loss(similarity, positives, known, config=config)
    if triplets is None:
        triplets = mine_triplets(similarity, positives, known, n_negatives=config.n_negatives)
    hinge = HINGES[config.margin]
    return batch_loss(hinge(*triplets.pairs, config), triplets, config)
