"""Settings of the set loss: how targets are matched, and the weights of its terms."""

from __future__ import annotations

from dataclasses import dataclass

from multitudes.config import Config, among, between, setting
from multitudes.seq2set.losses.assignment_schemes import AUTO, SCHEMES


@dataclass(frozen=True)
class SetLossConfig(Config):
    """The terms of Eq. 17; the defaults are OTSeq2Set's."""

    scheme: str = setting(
        AUTO,
        "Steps that an instance's n labels are matched to: all, the first n, or auto: by the share "
        "of training instances with more labels than the average.",
        choices=(*SCHEMES, AUTO),
    )
    empty_weight: float = setting(
        0.2,
        "Weight of the steps that should give the empty label.",
        above=0,
        at_most=1,
        search=between(0.05, 1.0, log=True),
    )
    transport_weight: float = setting(
        8.0,
        "Weight of the transport distance between predicted and true labels.",
        at_least=0,
        search=among(0.0, 2.0, 4.0, 8.0, 16.0),
    )
    transport_beta: float = setting(1.0, "Proximal weight of the transport's solver.", above=0)
    transport_steps: int = setting(50, "Proximal steps of that solver.", at_least=1)
    transport_inner_steps: int = setting(1, "Scaling steps within each.", at_least=1)
    labels_at_once: int | None = setting(
        None,
        "Labels whose logits are held at a time; None for as many as take 128 MiB.",
        at_least=1,
    )
