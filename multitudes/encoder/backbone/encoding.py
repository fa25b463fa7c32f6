"""Embeddings of many texts: batches of similar length, results in the order of the texts."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Literal, TypeAlias

import numpy as np
import torch

from multitudes.deep.out_of_memory import explain_out_of_memory
from multitudes.deep.processor import bf16_works, require_bf16
from multitudes.deep.texts.tokens import TokenRows, pack
from multitudes.errors import ConfigError
from multitudes.progress import track
from multitudes.types import FloatArray, IntArray

Precision: TypeAlias = Literal["float32", "bf16"]

_BATCHES_ON_DEVICE = 64  # results fetched at once, so that the device seldom waits for the host


def encode(
    backbone: Any,
    rows: TokenRows,
    *,
    batch_size: int = 256,
    precision: Precision = "float32",
    progress: str = "Encoding",
) -> FloatArray:
    """Embeddings of tokenized texts, without gradients or dropout.

    Parameters
    ----------
    backbone : Backbone
        Runs where its parameters are; its training mode is restored afterwards.
    rows : TokenRows
    batch_size : int
        Texts at a time. Texts are sorted by length first, so that little is padded.
    precision : "float32" or "bf16"
        The type to compute in: bf16 is about twice as fast where the processor knows it, and moves
        an embedding by about 0.01. The result is float32 all the same.
    progress : str
        What to call the work in a progress display.

    Returns
    -------
    float32 array (n_texts, d)
        L2-normalized, in the order of `rows`.
    """
    if batch_size < 1:
        raise ConfigError(f"batch_size must be >= 1, got {batch_size!r}")
    embeddings = np.empty((len(rows), backbone.dim), np.float32)
    order = np.argsort(-rows.lengths, kind="stable")  # longest first: too little memory shows early
    was_training = backbone.training
    backbone.eval()
    try:
        with (
            track(progress, len(rows), "texts") as task,
            explain_out_of_memory(lower=("batch_size", "max_length")),
            torch.inference_mode(),
            _computing_in(precision, backbone.device),
        ):
            for some in _split(order, batch_size * _BATCHES_ON_DEVICE):
                embeddings[some] = _encode_on_device(backbone, rows, some, batch_size).cpu().numpy()
                task.advance(len(some))
    finally:
        backbone.train(was_training)
    return embeddings


def _encode_on_device(
    backbone: Any, rows: TokenRows, order: IntArray, batch_size: int
) -> torch.Tensor:
    """Embeddings (n, d) of some texts, left where they were computed."""
    batches = [
        backbone(pack(rows.take(batch), device=backbone.device))  # (batch, d)
        for batch in _split(order, batch_size)
    ]
    return batches[0] if len(batches) == 1 else torch.cat(batches)


def _split(order: IntArray, size: int) -> list[IntArray]:
    return [order[start : start + size] for start in range(0, len(order), size)]


def fastest_precision(device: torch.device) -> Precision:
    """bf16 where the device computes in it by itself; elsewhere it would be slower than float32.

    A CPU that claims it is not believed, but tried.
    """
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    if device.type == "cpu":
        able = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
        return "bf16" if able() and bf16_works() else "float32"
    return "float32"


def _computing_in(precision: Precision, device: torch.device) -> Any:
    if precision == "float32":
        return nullcontext()
    if precision == "bf16":
        if device.type == "cpu":
            require_bf16()
        return torch.autocast(device.type, torch.bfloat16)
    raise ConfigError(f"precision must be 'float32' or 'bf16', got {precision!r}")
