"""State dicts as the store's States: tensors and arrays to safetensors, the rest to JSON.

torch's own way of writing a state dict is pickle, which runs code when it is read. Here a tensor
becomes an array, and its place in the dict a mark that names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from multitudes.errors import StoreError
from multitudes.store import State

ARRAY = "@array"  # {"@array": name, "of": "torch", "bfloat16" or "numpy"}
ITEMS = "@items"  # [[key, value], ...]: a mapping with keys that are not strings


def pack_state(kind: str, values: Mapping[str, Any]) -> State:
    """A State that holds a nested mapping of tensors, arrays, lists and plain values.

    Tuples come back as lists.
    """
    arrays: dict[str, npt.NDArray[Any]] = {}
    return State(kind, config={"values": _packed(values, "", arrays)}, arrays=arrays)


def unpack_state(state: State) -> dict[str, Any]:
    """What `pack_state` was given; tensors are copies on the CPU."""
    values = _unpacked(state.config["values"], state.arrays)
    assert isinstance(values, dict)
    return values


def _packed(value: Any, name: str, arrays: dict[str, npt.NDArray[Any]]) -> Any:
    if isinstance(value, torch.Tensor):
        plain = value.detach().cpu()
        if plain.dtype == torch.bfloat16:  # numpy lacks it: it travels as integers of its width
            return _mark(name, plain.view(torch.int16).numpy(), "bfloat16", arrays)
        return _mark(name, plain.numpy(), "torch", arrays)
    if isinstance(value, np.ndarray):
        return _mark(name, value, "numpy", arrays)
    if isinstance(value, Mapping):
        place = f"{name}/" if name else ""
        items = {key: _packed(own, f"{place}{key}", arrays) for key, own in value.items()}
        if all(isinstance(key, str) for key in items):
            return items
        return {ITEMS: [[key, own] for key, own in items.items()]}
    if isinstance(value, (list, tuple)):
        return [_packed(own, f"{name}/{i}", arrays) for i, own in enumerate(value)]
    return value


def _mark(
    name: str, array: npt.NDArray[Any], of: str, arrays: dict[str, npt.NDArray[Any]]
) -> dict[str, str]:
    if name in arrays:
        raise StoreError(f"two arrays of a state are called {name!r}: rename one")
    arrays[name] = array
    return {ARRAY: name, "of": of}


def _unpacked(value: Any, arrays: Mapping[str, npt.NDArray[Any]]) -> Any:
    if isinstance(value, list):
        return [_unpacked(own, arrays) for own in value]
    if not isinstance(value, Mapping):
        return value
    if ITEMS in value:
        return {key: _unpacked(own, arrays) for key, own in value[ITEMS]}
    if ARRAY not in value:
        return {key: _unpacked(own, arrays) for key, own in value.items()}
    array = np.array(arrays[value[ARRAY]])  # a copy: the stored one is a read-only map
    if value["of"] == "numpy":
        return array
    tensor = torch.from_numpy(array)
    return tensor.view(torch.bfloat16) if value["of"] == "bfloat16" else tensor


def copied(value: Any) -> Any:
    """A nested mapping with copies of all its tensors and arrays, on the CPU."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Mapping):
        return {key: copied(own) for key, own in value.items()}
    if isinstance(value, (list, tuple)):
        return [copied(own) for own in value]
    return value
