"""Where and how torch computes: device and number format of a tagger's model and features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from multitudes.errors import ConfigError
from multitudes.features import ConcatFeatures
from multitudes.fusion.members import given_members
from multitudes.tagger.settings import FEATURES_PREFIX, settings_of
from multitudes.types import FusesMembers, MovesToDevice

ANYWHERE = ("auto", "cpu")  # what a model without torch takes as well
ANYHOW = ("auto", "float32")


def set_device(model: Any, features: Any, device: str) -> None:
    """Have an unfitted model and its features compute on a device.

    Raises
    ------
    ConfigError
        If there is no such device here, or neither can use it.
    """
    places = []
    for one, own in _pairs(model, features):
        known = {**settings_of(one), **settings_of(own, FEATURES_PREFIX)}
        names = ("training.device", "features.device", "device")
        places += [known[name] for name in names if name in known]
        if device == "cpu" and "index.device" in known:  # else it goes by what there is
            known["index.device"].set(device)
    _check_used(bool(places), model, device)
    for place in places:
        place.set(device)
    if places:
        _check_there(device)


def move(model: Any, features: Any, device: str | None, precision: str | None) -> None:
    """Have a fitted model and its features compute on a device, in a number format.

    Either stays as it is if it is None.
    """
    parts = list(_movable(model, features))
    _check_used(bool(parts), model, device or "auto")
    if not parts and precision is not None and precision not in ANYHOW:
        raise ConfigError(
            f"{type(model).__name__} computes in float32 alone, got precision {precision!r}: "
            "leave the precision out"
        )
    chosen = _check_there(device) if parts and device is not None else None
    given = {} if precision is None else {"precision": precision}
    for part in parts:
        part.to(chosen, **given)


def _movable(model: Any, features: Any) -> Iterator[MovesToDevice]:
    for one, own in _pairs(model, features, fitted=True):
        blocks = own.blocks_ if isinstance(own, ConcatFeatures) else [own]
        yield from (part for part in (one, *blocks) if isinstance(part, MovesToDevice))


def _pairs(model: Any, features: Any, *, fitted: bool = False) -> Iterator[tuple[Any, Any]]:
    """Yield a model and its features; of an ensemble, those of each member."""
    if not isinstance(model, FusesMembers):
        yield model, features
        return
    members = model.members_ if fitted else given_members(model.members)  # type: ignore[attr-defined]
    yield from ((one.model, one.features) for one in members)


def _check_used(used: bool, model: Any, device: str) -> None:
    if not used and device not in ANYWHERE:
        raise ConfigError(
            f"{type(model).__name__} computes on the CPU alone, got device {device!r}: "
            "leave the device out"
        )


def _check_there(device: str) -> str:
    """Return the device that "auto" stands for, or the one named, if it is there."""
    from multitudes.deep.devices import choose_device

    return str(choose_device(device))
