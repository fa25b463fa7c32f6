"""Texts on the scratch disk: a sequence of strings that holds none of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from multitudes.files.large import Shelf, spilled_from

_ERRORS = "surrogatepass"  # what was read comes back, whatever it is


class StoredTexts(Sequence[str]):
    """An immutable sequence of texts, encoded where a `Shelf` keeps them.

    Parameters
    ----------
    blocks : list of (bytes as uint8 array, starts as int64 array)
        Texts that were added together, one after the other, and where each begins.
    first : int array (n_blocks + 1,)
        The number of the first text of each block.
    chosen : range or int array
        Which of the texts these are.
    """

    def __init__(
        self,
        blocks: Sequence[tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]],
        first: npt.NDArray[np.int64],
        chosen: range | npt.NDArray[np.int64],
    ) -> None:
        self._blocks, self._first, self._chosen = blocks, first, chosen

    def __len__(self) -> int:
        return len(self._chosen)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> StoredTexts: ...
    def __getitem__(self, index: int | slice) -> str | StoredTexts:
        """Return a text, or some of them, which stay where they are."""
        if isinstance(index, slice):
            return StoredTexts(self._blocks, self._first, self._chosen[index])
        number = int(self._chosen[index])
        block = int(np.searchsorted(self._first, number, side="right")) - 1
        data, starts = self._blocks[block]
        at = number - int(self._first[block])
        return data[starts[at] : starts[at + 1]].tobytes().decode("utf-8", _ERRORS)

    def take(self, ids: npt.NDArray[np.int64]) -> StoredTexts:
        """Return some of the texts, in the order of their numbers here."""
        chosen = np.asarray(self._chosen, np.int64)[ids]
        return StoredTexts(self._blocks, self._first, chosen)

    def __iter__(self) -> Iterator[str]:
        if isinstance(self._chosen, range) and self._chosen.step == 1:
            return self._in_order(self._chosen.start, self._chosen.stop)
        return (self[i] for i in range(len(self)))

    def _in_order(self, start: int, stop: int) -> Iterator[str]:
        for number, (data, starts) in enumerate(self._blocks):
            before = int(self._first[number])
            low, high = max(start - before, 0), min(stop - before, len(starts) - 1)
            if low >= high:
                continue
            whole = data[starts[low] : starts[high]].tobytes()
            ends = (starts[low : high + 1] - starts[low]).tolist()
            for a, b in pairwise(ends):
                yield whole[a:b].decode("utf-8", _ERRORS)


class TextShelf:
    """Collects texts block by block: in a list, or on disk where a limit of memory is set."""

    def __init__(self) -> None:
        self._list: list[str] = []
        self._shelf = None if spilled_from() is None else Shelf()
        self._blocks: list[Any] = []
        self._first = [0]

    def __len__(self) -> int:
        return len(self._list) + self._first[-1]

    def extend(self, texts: Iterable[str]) -> None:
        """Add texts."""
        if self._shelf is None:
            self._list.extend(texts)
            return
        encoded = [text.encode("utf-8", _ERRORS) for text in texts]
        starts = np.fromiter(chain([0], map(len, encoded)), np.int64, len(encoded) + 1).cumsum()
        data = np.frombuffer(b"".join(encoded), np.uint8)
        self._blocks.append((self._shelf.kept(data), starts))
        self._first.append(self._first[-1] + len(encoded))

    def texts(self) -> Sequence[str]:
        """Return all texts."""
        if self._shelf is None:
            return self._list
        return StoredTexts(self._blocks, np.array(self._first), range(self._first[-1]))
