"""Stored weights against the network they are for, before memory is taken for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy.typing as npt
import torch
from torch import nn

from multitudes.errors import StoreError
from multitudes.store import State, checks


def check_weights(
    state: State,
    make: Callable[[], nn.Module],
    *,
    prefix: str = "",
    others: Collection[str] = (),
) -> None:
    """Refuse arrays that are not the weights of a network: names, types, shapes, finite.

    Parameters
    ----------
    state : State
        Its arrays are the weights.
    make : function
        Makes the network; on the device "meta", where tensors have shapes and no memory.
    prefix : str
        What the names of its arrays begin with.
    others : collection of str
        Further arrays that the state may have, which are not looked at.
    """
    wanted = shapes_of(make)
    checks.names(
        state, arrays={*(prefix + name for name in wanted), *others}, parts=state.parts,
        optional=others,
    )  # fmt: skip
    for name, (dtype, shape) in wanted.items():
        checks.finite(checks.array(state, prefix + name, dtype, shape), prefix + name)


def shapes_of(make: Callable[[], nn.Module]) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return the dtype and shape of each weight of a network, which is made without memory."""
    try:
        with torch.device("meta"):
            weights: Mapping[str, torch.Tensor] = make().state_dict()
    except RuntimeError as error:  # sizes beyond what a tensor may have
        raise StoreError(f"there is no network of such sizes: {error}") from error
    return {
        name: (str(weight.dtype).removeprefix("torch."), tuple(weight.shape))
        for name, weight in weights.items()
    }


def as_tensor(values: npt.NDArray[Any]) -> torch.Tensor:
    """Return a copy of an array as a tensor; on the device "meta", its shape alone."""
    if torch.get_default_device().type == "meta":
        return torch.empty(values.shape)
    return torch.from_numpy(values.copy())
