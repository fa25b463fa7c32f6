"""The random states of a process: seeded for a run, saved with it, given back afterwards."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


@contextmanager
def seeded(random_state: int) -> Iterator[None]:
    """Seed Python's, numpy's and torch's global generators; afterwards they are as before."""
    before = random_states()
    random.seed(random_state)
    np.random.seed(random_state % 2**32)
    torch.manual_seed(random_state)
    try:
        yield
    finally:
        restore_random_states(before)


def random_states() -> dict[str, Any]:
    """All global random states, as arrays and plain values."""
    version, words, next_gauss = random.getstate()
    name, keys, position, has_gauss, gauss = np.random.get_state()
    states: dict[str, Any] = {
        "python": {"version": version, "words": np.array(words), "next_gauss": next_gauss},
        "numpy": {
            "name": name,
            "keys": keys,
            "position": position,
            "has_gauss": has_gauss,
            "gauss": gauss,
        },
        "torch": torch.get_rng_state(),
    }
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        states["cuda"] = torch.cuda.get_rng_state()
    return states


def restore_random_states(states: Mapping[str, Any]) -> None:
    """Put `random_states` back; a GPU's state is left out where there is no GPU."""
    python, legacy = states["python"], states["numpy"]
    words = tuple(int(word) for word in python["words"])
    random.setstate((python["version"], words, python["next_gauss"]))
    np.random.set_state(
        (
            legacy["name"],
            legacy["keys"],
            legacy["position"],
            legacy["has_gauss"],
            legacy["gauss"],
        )
    )
    torch.set_rng_state(states["torch"])
    if "cuda" in states and torch.cuda.is_available():
        torch.cuda.set_rng_state(states["cuda"])
