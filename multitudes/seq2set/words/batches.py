"""Batches of texts as padded word ids, texts of similar length together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from multitudes.config import Config, setting
from multitudes.deep.texts.tokens import TokenRows
from multitudes.seq2set.graph_capture import capturing
from multitudes.seq2set.words.vocabulary import PADDING
from multitudes.types import IntArray

LENGTHS_PER_DOUBLING = {"off": None, "on": 1, "graphs": 4}
"""How many lengths batches may have, by `NetworkConfig.compile`: graphs are quickly captured."""

BATCHES_SORTED_TOGETHER = 16
"""Texts are sorted by length within this many batches: little padding, still random enough."""


@dataclass(frozen=True)
class BatchConfig(Config):
    """How texts are put together."""

    batch_size: int = setting(64, "Instances of a training batch.", at_least=1)
    predict_batch_size: int = setting(256, "Instances of a batch at prediction.", at_least=1)
    round_up_to: int = setting(
        8, "Lengths are padded to a multiple of this.", at_least=1, at_most=4096
    )
    prefetch: int = setting(2, "Batches made ahead of time, in the background.", at_least=0)


@dataclass(frozen=True)
class WordBatch:
    """Some texts on a device, longest first.

    Parameters
    ----------
    ids : int64 tensor (b, l)
        Word ids; 0 at padding.
    lengths : int64 tensor (b,)
        Words of each text, at least 1.
    host_lengths : int64 tensor (b,)
        The same in the host's memory, so that nothing has to wait for the device.
    """

    ids: Tensor
    lengths: Tensor
    host_lengths: Tensor

    def __len__(self) -> int:
        return len(self.ids)


def word_batch(
    rows: TokenRows,
    *,
    round_up_to: int = 1,
    per_doubling: int | None = None,
    device: torch.device | str = "cpu",
) -> WordBatch:
    """Texts, longest first, as one padded batch on a device.

    Its length is a multiple of `round_up_to`. With `per_doubling`, only that many lengths are used
    between a length and its double, so that code compiled for each length sees few of them.
    """
    lengths = rows.lengths
    longest = int(lengths.max()) if len(rows) else 0
    n_units = -(-longest // round_up_to)
    width = _few(n_units, per_doubling) * round_up_to
    ids = np.full((len(rows), width), PADDING, np.int64)
    inside = np.arange(width) < lengths[:, None]
    ids[inside] = rows.ids
    host = torch.from_numpy(lengths.astype(np.int64))
    return WordBatch(on_device(ids, device), on_device(lengths, device), host)


def _few(n: int, per_doubling: int | None) -> int:
    """The next of few numbers: 4 between a power of two and the next are 4, 5, 6, 7, 8, 10, ..."""
    if per_doubling is None or not n:
        return n
    step = max(1, (1 << (n - 1).bit_length() >> 1) // per_doubling)
    return -(-n // step) * step


def on_device(array: IntArray, device: torch.device | str) -> Tensor:
    """An array on its way to the device; the host does not wait for it."""
    tensor = torch.from_numpy(np.ascontiguousarray(array, np.int64))
    if torch.device(device).type != "cuda":
        return tensor.to(device)
    with capturing:
        return tensor.pin_memory().to(device, non_blocking=True)


def epoch_rows(
    lengths: IntArray, *, batch_size: int, random_state: int, epoch: int
) -> list[IntArray]:
    """The instances of each batch of an epoch, in random order, longest first within a batch.

    All batches have the same size: the last one is filled up with the first instances again, so
    that compiled code sees one shape. Fewer instances than `batch_size` make one smaller batch.
    """
    rng = np.random.default_rng((random_state, epoch))
    order = rng.permutation(len(lengths))
    size = min(batch_size, len(order))
    together = size * BATCHES_SORTED_TOGETHER
    order = np.concatenate([order, order[: -len(order) % size]])
    batches: list[IntArray] = []
    for pool in np.array_split(order, range(together, len(order), together)):
        by_length = pool[np.argsort(-lengths[pool], kind="stable")]
        batches += np.split(by_length, len(by_length) // size)
    return [batches[i] for i in rng.permutation(len(batches))]


def sorted_rows(lengths: IntArray, *, batch_size: int) -> Iterator[IntArray]:
    """All instances once, longest first, for prediction."""
    order = np.argsort(-lengths, kind="stable")
    for first in range(0, len(order), batch_size):
        yield order[first : first + batch_size]
