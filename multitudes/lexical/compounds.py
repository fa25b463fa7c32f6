"""Words inside compounds: "Gartenhaus" has "Garten" at its start and "Haus" at its end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multitudes.features.stemming import Ints, Longs
from multitudes.features.vocabulary import Vocabulary
from multitudes.lexical.lookup import looked_up

COMPOUNDING = frozenset({
    "danish", "dutch", "dutch_porter", "estonian", "finnish", "german", "hungarian", "norwegian",
    "swedish",
})  # fmt: skip
"""Languages that write compounds as one word."""

SHORTEST_START, SHORTEST_END = 4, 4  # letters of the word at the start, and at the end


def parts_of(forms: Sequence[bytes], stems: Vocabulary) -> tuple[Longs, Ints]:
    """Return the longest known stem at the start of each form, and that at its end.

    Parameters
    ----------
    forms : sequence of bytes
        Stems of words.
    stems : Vocabulary

    Returns
    -------
    indptr : int64 array (n_forms + 1,)
    ids : int32 array (n_parts,)
        At most two parts of each form, none of which is the form.
    """
    pieces: list[bytes] = []
    owners: list[int] = []
    for place, form in enumerate(forms):
        text = form.decode()
        if len(text) >= SHORTEST_START + SHORTEST_END - 1 and text.isalpha():
            found = [text[:i] for i in range(len(text) - 2, SHORTEST_START - 1, -1)]
            found += [text[i:] for i in range(2, len(text) - SHORTEST_END + 1)]
            pieces += [piece.encode() for piece in found]
            owners += [place] * (len(text) - 1 - SHORTEST_START)
            owners += [-place - 1] * (len(text) - 1 - SHORTEST_END)
    ids = looked_up(pieces, stems)
    kept = ids >= 0
    sides, ids = np.array(owners, np.int64)[kept], ids[kept]
    # The longest comes first on either side.
    _, first = np.unique(sides, return_index=True)
    sides, ids = sides[first], ids[first]
    owner = np.where(sides >= 0, sides, -sides - 1)
    order = np.argsort(owner, kind="stable")
    counts = np.bincount(owner, minlength=len(forms))
    return np.concatenate([[0], np.cumsum(counts)]), ids[order]
