"""Losses over bags, one file each; `LOSSES` are the names a model knows them by."""

from __future__ import annotations

from multitudes.groups.miml.losses.counts import CountLoss
from multitudes.groups.miml.losses.presence import PresenceLoss
from multitudes.groups.miml.losses.proportion import ProportionLoss

BagLoss = ProportionLoss | PresenceLoss | CountLoss
LOSSES: dict[str, type[BagLoss]] = {
    "proportion": ProportionLoss,
    "presence": PresenceLoss,
    "counts": CountLoss,
}

__all__ = [
    "LOSSES",
    "BagLoss",
    "CountLoss",
    "PresenceLoss",
    "ProportionLoss",
]
