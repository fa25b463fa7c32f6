"""What training sets in its process: Accelerate's settings, random seeds, Ctrl-C between steps."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.state import AcceleratorState, PartialState

from multitudes.deep.devices import choose_device, choose_precision
from multitudes.deep.training.config import TrainingConfig
from multitudes.errors import ConfigError
from multitudes.progress import say
from multitudes.stopping import listening


def make_accelerator(config: TrainingConfig) -> Accelerator:
    """An Accelerator for these settings, in one process or one of several."""
    device = choose_device(config.device)
    precision = choose_precision(config.precision, device)
    _forget_other_settings(device, precision)
    # The pooler of a text encoder, for one, takes no part in the loss. And what is learned without
    # a gradient is the same in all processes already.
    sharing = DistributedDataParallelKwargs(find_unused_parameters=True, broadcast_buffers=False)
    accelerator = Accelerator(
        mixed_precision=precision, cpu=device.type == "cpu", kwargs_handlers=[sharing]
    )
    if accelerator.device.type != device.type:
        raise ConfigError(
            f"device={config.device!r}, but this process trains on {accelerator.device} already: "
            "use that device, or a new process"
        )
    return accelerator


def _forget_other_settings(device: torch.device, precision: str) -> None:
    """Let a second run in one process have other settings than the first.

    Accelerate keeps them for the whole process and refuses others; a notebook trains more than
    once. Processes that were started together keep their connection.
    """
    if not PartialState._shared_state or PartialState().num_processes > 1:
        AcceleratorState._reset_state()
        return
    same_precision = AcceleratorState._shared_state.get("_mixed_precision") == precision
    if PartialState().device.type != device.type or not same_precision:
        AcceleratorState._reset_state(reset_partial_state=True)


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
    """Put `random_states` back; a GPU's state is ignored without a GPU."""
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


class Interrupt:
    """Whether Ctrl-C was pressed; a second time interrupts at once."""

    def __init__(self) -> None:
        self.requested = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Note the first signal; raise at the second."""
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        say("stopping, and saving when this step is done; Ctrl-C again stops without saving")


@contextmanager
def deferred_interrupt(*, enabled: bool) -> Iterator[Interrupt]:
    """Note Ctrl-C, or SIGTERM to a command, instead of raising at once: training can save first.

    Signals reach only the main thread; in other threads, and if Python's own handler was replaced,
    nothing changes.
    """
    interrupt = Interrupt()
    with listening(interrupt.handle) if enabled else nullcontext():
        yield interrupt
    if interrupt.requested:  # after the last step, when nobody asked any more
        raise KeyboardInterrupt
