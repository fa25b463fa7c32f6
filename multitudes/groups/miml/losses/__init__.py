"""Losses over bags, one file each; `LOSSES` are the names a model knows them by."""

from __future__ import annotations

from multitudes.groups.miml.losses.counts import CountLoss
from multitudes.groups.miml.losses.max_probability import MaxProbabilityLoss
from multitudes.groups.miml.losses.presence import PresenceLoss
from multitudes.groups.miml.losses.proportion import ProportionLoss

BagLoss = ProportionLoss | PresenceLoss | MaxProbabilityLoss | CountLoss
LOSSES: dict[str, type[BagLoss]] = {
    "proportion": ProportionLoss,
    "presence": PresenceLoss,
    "max-probability": MaxProbabilityLoss,
    "counts": CountLoss,
}

__all__ = [
    "LOSSES",
    "BagLoss",
    "CountLoss",
    "MaxProbabilityLoss",
    "PresenceLoss",
    "ProportionLoss",
]
