"""Which device, number format and number of threads torch computes with."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Literal, TypeAlias

import torch

from multitudes.deep.processor import bf16_works, require_bf16
from multitudes.errors import ConfigError, counted

KINDS = ("cpu", "cuda", "mps")

Precision: TypeAlias = Literal["float32", "bf16"]
"""Number format of a prediction."""


def choose_device(name: str) -> torch.device:
    """The device of a setting: "auto" is the GPU if there is one, else the CPU.

    Raises
    ------
    ConfigError
        If torch does not know the device, or this machine does not have it.
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


def describe_device(device: torch.device) -> str:
    """Return a device in words: "this CPU (2 threads)", or the name of the GPU."""
    if device.type == "cuda":
        return f"the GPU ({torch.cuda.get_device_name(device)})"
    if device.type == "mps":
        return "the Apple GPU"
    n_threads = torch.get_num_threads()
    return f"this CPU ({counted(n_threads, 'thread')})"


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


def fastest_precision(device: torch.device) -> Precision:
    """bf16 if the device computes in it natively; otherwise it would be slower than float32.

    A CPU that claims it is not believed, but tried.
    """
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    if device.type == "cpu":
        able = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
        return "bf16" if able() and bf16_works() else "float32"
    return "float32"


def computing_in(precision: Precision, device: torch.device) -> AbstractContextManager[Any]:
    """Compute in a number format while the context lasts."""
    if precision == "float32":
        return nullcontext()
    if precision == "bf16":
        if device.type == "cpu":
            require_bf16()
        return torch.autocast(device.type, torch.bfloat16)
    raise ConfigError(f"precision must be 'float32' or 'bf16', got {precision!r}")


@contextmanager
def tensor_core_products(enabled: bool) -> Iterator[None]:
    """Run products of float32 matrices on tensor cores, with ten bits of mantissa.

    For mixed precision, where what is multiplied comes from products of fewer bits anyway.
    """
    before = torch.get_float32_matmul_precision()
    if enabled:
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def torch_threads(n_jobs: int | None) -> Iterator[None]:
    """Let torch compute with `n_jobs` threads on a CPU; None leaves it as it is."""
    if n_jobs is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(n_jobs)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def operations_per_second(device: str) -> float:
    """Return the rate of a device that encoders are trained on, by a matrix product or a few."""
    on_gpu = device == "cuda"
    size = 4096 if on_gpu else 512
    kind = torch.bfloat16 if on_gpu else torch.float32
    a = torch.ones((size, size), dtype=kind, device=device)
    best = float("inf")
    for _ in range(4):
        started = time.perf_counter()
        (a @ a)[0, 0].item()  # waits for the device
        best = min(best, time.perf_counter() - started)
    return 2 * size**3 / max(best, 1e-9)
