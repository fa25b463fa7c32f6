"""Ids of single words in a vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitudes.features.stemming import Ints, known_words
from multitudes.features.vocabulary import Vocabulary


def looked_up(forms: Sequence[bytes], vocabulary: Vocabulary) -> Ints:
    """Return the id of each form in a vocabulary of single words; -1 for what is not there."""
    if not forms:
        return np.empty(0, np.int32)
    buffer = np.frombuffer(b"\0".join(forms) + b"\0", np.uint8)
    indptr, ids = known_words(buffer, len(forms), vocabulary)
    found = np.full(len(forms), -1, np.int32)
    single = np.diff(indptr) == 1  # a stem that is not one word is not in any vocabulary
    found[single] = ids[indptr[:-1][single]]
    return found
