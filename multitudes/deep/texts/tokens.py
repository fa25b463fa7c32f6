"""Token ids of many texts, end to end without padding, and batches of them on a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

TILES = (16, 32, 64, 128)
"""Lengths that the attention kernel for short texts is made for."""


@dataclass(frozen=True)
class TokenRows:
    """Token ids of many texts, one after the other; the arrays may be memory-mapped.

    Parameters
    ----------
    ids : uint16 or int32 array (n_tokens,)
        Special tokens included. No text is empty: it has at least its special tokens.
    offsets : int64 array (n_texts + 1,)
        Text i is ``ids[offsets[i]:offsets[i + 1]]``.
    """

    ids: npt.NDArray[Any]
    offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each text."""
        return np.diff(self.offsets)

    def take(self, rows: npt.NDArray[Any]) -> TokenRows:
        """Some of the texts, in the order asked for; repeats are allowed."""
        starts = self.offsets[rows]
        lengths = self.offsets[np.asarray(rows) + 1] - starts
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        # Where each token stands: its text's start plus its place within the text.
        where = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        return TokenRows(self.ids[where], offsets)

    def shortened(self, max_length: int) -> TokenRows:
        """Texts cut to `max_length` tokens; the last token (the separator) is kept."""
        lengths = np.minimum(self.lengths, max_length)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        where = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1] - offsets[:-1], lengths)
        where[offsets[1:] - 1] = self.offsets[1:] - 1
        return TokenRows(self.ids[where], offsets)


@dataclass(frozen=True)
class PackedTokens:
    """A batch of texts on a device: all tokens in one row, no padding between texts.

    Parameters
    ----------
    ids : int64 tensor (n_tokens,)
        Token ids. Behind the last text there may be filling, which belongs to no text: it rounds
        `n_tokens` up, so that a compiled model sees few different sizes.
    positions : int64 tensor (n_tokens,)
        Place of each token in its text; 0 for filling.
    texts : int64 tensor (n_tokens,)
        Text of each token; `n_texts` for filling.
    offsets : int32 tensor (n_texts + 1,)
        Where each text begins and ends.
    max_length : int
        Upper bound of the tokens of a text.
    by_length : int32 tensor (n_texts,)
        The texts in the order of `TILES`, those of the smallest first.
    tile_counts : tuple of int
        Texts of each of `TILES`: those that fit in it and in no smaller one.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    texts: torch.Tensor
    offsets: torch.Tensor
    max_length: int
    by_length: torch.Tensor
    tile_counts: tuple[int, ...]

    def __len__(self) -> int:
        return int(self.offsets.shape[0]) - 1

    def padded(self, pad_id: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return (n_texts, max_length) ids and their 0/1 mask, for models without packed input."""
        real = self.texts < len(self)  # (n_tokens,)
        shape = (len(self), self.max_length)
        ids = torch.full(shape, pad_id, dtype=torch.int64, device=self.ids.device)
        mask = torch.zeros(shape, dtype=torch.int64, device=self.ids.device)
        where = (self.texts[real], self.positions[real])
        ids[where] = self.ids[real]
        mask[where] = 1
        return ids, mask  # (n_texts, max_length) each


def pack(
    rows: TokenRows,
    *,
    device: torch.device | str = "cpu",
    round_up_to: int = 1,
    max_length: int | None = None,
) -> PackedTokens:
    """Put texts on a device as one batch.

    `round_up_to` fills the tokens up to a multiple; `max_length` fixes the bound that compiled
    models specialize on (by default the longest text of this batch).
    """
    lengths = rows.lengths
    n_tokens, n_texts = int(rows.offsets[-1]), len(rows)
    n_filling = -n_tokens % round_up_to
    arrays = np.zeros((3, n_tokens + n_filling), np.int64)
    arrays[0, :n_tokens] = rows.ids
    arrays[1, :n_tokens] = np.arange(n_tokens) - np.repeat(rows.offsets[:-1], lengths)
    arrays[2, :n_tokens] = np.repeat(np.arange(n_texts), lengths)
    arrays[2, n_tokens:] = n_texts
    on_gpu = torch.device(device).type == "cuda"
    tensor = torch.from_numpy(arrays)
    tiles = np.searchsorted(TILES, lengths)  # (n_texts,); beyond the last: in no tile
    ends = np.concatenate([rows.offsets, np.argsort(tiles, kind="stable")]).astype(np.int32)
    texts = torch.from_numpy(ends)
    if on_gpu:  # pinned memory lets the copy overlap with the device's work
        tensor, texts = tensor.pin_memory(), texts.pin_memory()
    tensor = tensor.to(device, non_blocking=True)
    texts = texts.to(device, non_blocking=True)
    longest = int(lengths.max()) if n_texts else 0
    return PackedTokens(
        ids=tensor[0],
        positions=tensor[1],
        texts=tensor[2],
        offsets=texts[: n_texts + 1],
        max_length=longest if max_length is None else max_length,
        by_length=texts[n_texts + 1 :],
        tile_counts=tuple(np.bincount(tiles, minlength=len(TILES))[: len(TILES)].tolist()),
    )


def joined(*parts: TokenRows) -> TokenRows:
    """The texts of all parts, one after the other; there is at least one part."""
    ids = np.concatenate([part.ids for part in parts])
    lengths = np.concatenate([part.lengths for part in parts])
    return TokenRows(ids, np.concatenate([[0], np.cumsum(lengths)]))
