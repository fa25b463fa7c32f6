"""Words that a text shares with the names of labels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from multitudes.data.label_lists import text_list
from multitudes.distinct import distinct
from multitudes.errors import DataError
from multitudes.store import State, checks
from multitudes.types import FloatArray, IntArray

if TYPE_CHECKING:
    from multitudes.kernels.fusion import NameWords


class LabelNames:
    """The names of labels in parts of words, four characters long, and how rare each part is.

    By parts "market" is found in "markets", whatever the language.

    Parameters
    ----------
    label_texts : sequence of str
        The name of each label.
    """

    kind = "label-names"

    def __init__(self, label_texts: Sequence[str]) -> None:
        from multitudes.kernels.fusion import parts_of_names

        n = len(label_texts)
        starts, codes = characters(label_texts)
        parts, owner = np.empty(len(codes), np.uint32), np.empty(len(codes), np.int64)
        count = parts_of_names(starts, codes, parts, owner)
        pairs = distinct((owner[:count] << 32) | parts[:count])  # a part counts once in a name
        owner = pairs >> 32
        self.parts: npt.NDArray[np.uint32] = (pairs & 0xFFFFFFFF).astype(np.uint32)
        _, which, uses = np.unique(self.parts, return_inverse=True, return_counts=True)
        rarity = np.log((1 + n) / (1 + uses[which])) + 1
        whole = np.bincount(owner, rarity, minlength=n)
        self.shares: FloatArray = (rarity / whole[owner]).astype(np.float32)
        self.starts: IntArray = np.searchsorted(owner, np.arange(n + 1)).astype(np.int64)

    def resized(self, kept: IntArray, new_texts: Sequence[str]) -> LabelNames:
        """Return the names of some labels, and of new ones behind them."""
        new = LabelNames(new_texts)
        lengths = np.diff(self.starts)[kept]
        ends = np.cumsum(lengths)
        at = np.arange(lengths.sum()) + np.repeat(self.starts[:-1][kept] - ends + lengths, lengths)
        other = LabelNames.__new__(LabelNames)
        other.parts = np.concatenate([self.parts[at], new.parts])
        other.shares = np.concatenate([self.shares[at], new.shares])
        other.starts = np.concatenate([[0], ends, at.size + new.starts[1:]]).astype(np.int64)
        return other

    def beside(self, texts: Sequence[str]) -> NameWords:
        """Return the characters of some texts, and the parts of all names."""
        from multitudes.kernels.fusion import NameWords

        return NameWords(*characters(texts), self.starts, self.parts, self.shares)

    def to_state(self) -> State:
        """Return the parts of each name."""
        return State(
            self.kind,
            arrays={"starts": self.starts, "parts": self.parts, "shares": self.shares},
        )

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check that the parts of all names are there, each with its share."""
        checks.names(state, config=(), arrays=("starts", "parts", "shares"))
        parts = checks.array(state, "parts", "uint32", (None,))
        starts = checks.array(state, "starts", "int64", (None,))
        checks.starts(starts, "starts", len(parts))
        checks.finite(checks.array(state, "shares", "float32", (len(parts),)), "shares")

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build it again."""
        names = cls.__new__(cls)
        names.starts, names.parts, names.shares = (
            np.ascontiguousarray(state.arrays[name]) for name in ("starts", "parts", "shares")
        )
        return names


def characters(texts: Sequence[str]) -> tuple[IntArray, npt.NDArray[np.uint32]]:
    """Return where the characters of each text begin, and all of them, in small letters."""
    lowered = [text.lower() for text in texts]
    starts = np.zeros(len(lowered) + 1, np.int64)
    np.cumsum([len(text) for text in lowered], out=starts[1:])
    joined = "".join(lowered).encode("utf-32-le", "surrogatepass")
    return starts, np.frombuffer(joined, np.uint32)


class TextWords:
    """Label names, and the texts of the instances that are fused.

    Parameters
    ----------
    label_texts : sequence of str
        The name of each label.
    texts : sequence of str
    """

    def __init__(self, label_texts: Sequence[str], texts: Sequence[str]) -> None:
        self.label_texts, self.texts = label_texts, texts

    @cached_property
    def names(self) -> LabelNames:
        """The names in parts: made for a fusion that looks at them."""
        return LabelNames(self.label_texts)

    @classmethod
    def of(cls, texts: Any, label_texts: Any, *, n: int, n_labels: int) -> Self | None:
        """Return words of texts and names; None without either."""
        if label_texts is not None:
            label_texts = text_list(label_texts)
            if len(label_texts) != n_labels:
                raise DataError(
                    f"label_texts must have a text for each of {n_labels:,} labels, got "
                    f"{len(label_texts):,}"
                )
        if texts is not None:
            texts = checked_texts(texts, n)
        if texts is None or label_texts is None or not any(map(str.strip, label_texts)):
            return None
        return cls(label_texts, texts)


def checked_texts(texts: Any, n: int) -> Sequence[str]:
    """Return a text for each of n instances."""
    found: Sequence[str] = text_list(texts)
    if len(found) != n:
        raise DataError(f"texts must be one for each of {n:,} instances, got {len(found):,}")
    return found
