"""Which device and number format to train with, and the Accelerator that knows both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.state import AcceleratorState, PartialState

from multitudes.deep.processor import require_bf16
from multitudes.deep.training.training_config import TrainingConfig
from multitudes.errors import ConfigError

KINDS = ("cpu", "cuda", "mps")


def choose_device(name: str) -> torch.device:
    """The device of a setting: "auto" is the GPU if there is one, else the CPU.

    Raises
    ------
    ConfigError
        If torch knows no such device, or this machine has none.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    device = _named(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(
            f"device={name!r}, but torch finds no GPU: use device='cpu', or install a torch built "
            "for your GPU and check that nvidia-smi lists it"
        )
    if device.type == "cuda" and device.index and device.index >= torch.cuda.device_count():
        raise ConfigError(
            f"device={name!r}, but torch finds {torch.cuda.device_count()} GPU(s), numbered from "
            "0: use one of them"
        )
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise ConfigError(f"device={name!r}, but torch finds no Apple GPU: use device='cpu'")
    return device


def _named(name: str) -> torch.device:
    try:
        device = torch.device(name)
        if device.type in KINDS:
            return device
    except (RuntimeError, TypeError):
        pass
    raise ConfigError(f"device must be one of {['auto', *KINDS]}, got {name!r}")


def choose_precision(name: str, device: torch.device) -> str:
    """Accelerate's word for a number format: "no" (float32), "bf16" or "fp16"."""
    if name == "auto":
        if device.type != "cuda":
            return "no"
        return "bf16" if torch.cuda.is_bf16_supported() else "fp16"
    if name == "fp16" and device.type == "cpu":
        raise ConfigError("precision='fp16' needs a GPU: use 'bf16' or 'float32' on the CPU")
    if name == "bf16" and device.type == "cpu":
        require_bf16()
    return "no" if name == "float32" else name


def make_accelerator(config: TrainingConfig) -> Accelerator:
    """An Accelerator for these settings, in one process or one of several."""
    device = choose_device(config.device)
    precision = choose_precision(config.precision, device)
    _forget_other_settings(device, precision)
    # The pooler of a text encoder, for one, takes no part in the loss.
    unused = DistributedDataParallelKwargs(find_unused_parameters=True)
    accelerator = Accelerator(
        mixed_precision=precision, cpu=device.type == "cpu", kwargs_handlers=[unused]
    )
    if accelerator.device.type != device.type:
        raise ConfigError(
            f"device={config.device!r}, but this process trains on {accelerator.device} already: "
            "use that device, or a new process"
        )
    return accelerator


@contextmanager
def tensor_core_products(enabled: bool) -> Iterator[None]:
    """Let products of float32 matrices run on tensor cores meanwhile, with ten bits of mantissa.

    For mixed precision, where what is multiplied comes from products of fewer bits anyway.
    """
    before = torch.get_float32_matmul_precision()
    if enabled:
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


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
