"""What a fit keeps about the senses of labels, so that a loaded model can show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from multitudes.types import LabelArray

N_WORDS = 12
"""Telling words kept for each slot."""

N_NEAREST = 5
"""Nearest labels kept for each slot."""


@dataclass(frozen=True, eq=False)
class SenseNotes:
    """A row for each slot of a tree, that is, for each label in each of its leaves.

    Parameters
    ----------
    counts : int32 array (n_slots,)
        Training instances that use the label in the sense of this leaf.
    examples : int32 array (n_slots, keep_examples)
        Rows of the training data that do so most typically, best first; -1 where there are fewer.
    nearest : int32 array (n_slots, N_NEAREST)
        Other labels of the leaf, those that these instances share first; -1 where there are fewer.
    words : int32 array (n_slots, N_WORDS)
        Features that speak most for the label in these instances; -1 where there are fewer.
    word_weights : float16 array (n_slots, N_WORDS)
        How much each speaks for it, falling; 0 beside each -1.

    Notes
    -----
    About 100 bytes for each slot, whatever the size of the data.
    """

    counts: LabelArray
    examples: LabelArray
    nearest: LabelArray
    words: LabelArray
    word_weights: npt.NDArray[np.float16]

    def to_arrays(self, prefix: str) -> dict[str, npt.NDArray[Any]]:
        """The arrays under names for the store."""
        return {prefix + field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> Self | None:
        """The notes again; None where none were kept."""
        if prefix + "counts" not in arrays:
            return None
        return cls(**{field.name: arrays[prefix + field.name] for field in fields(cls)})
