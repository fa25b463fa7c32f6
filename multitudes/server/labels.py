"""The labels of a model by the beginning of their names and titles, in alphabetical order.

All names lie behind one another in one array of bytes, sorted, beside the id of each label: of a
million labels some ten bytes each beyond their letters, and a search takes microseconds.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from multitudes.features.vocabulary import sorted_order

BEHIND = "\1"  # ends a name; what sorts names needs all to differ, so that an id follows


class LabelIndex:
    """Finds labels by prefix, and their ids.

    Parameters
    ----------
    names : sequence of str
    titles : mapping of str to str
        What people call a label, by its name.
    """

    def __init__(self, names: Sequence[str], titles: Mapping[str, str]) -> None:
        self.names = names
        keys: list[bytes] = []
        ids: list[int] = []
        for label, name in enumerate(names):
            for key in dict.fromkeys(map(folded, (name, titles.get(name, name)))):
                keys.append(f"{key}{BEHIND}{label}".encode("utf-8", "replace"))
                ids.append(label)
        lengths = np.fromiter(map(len, keys), np.int64, len(keys))
        ends = np.concatenate([[0], np.cumsum(lengths)])
        pool = np.frombuffer(b"".join(keys), np.uint8)
        order = sorted_order(pool, ends[:-1], ends[1:])
        self._pool = b"".join([keys[at] for at in order.tolist()])
        self._ends = np.concatenate([[0], np.cumsum(lengths[order])])
        self._ids = np.array(ids, np.int32)[order]

    def starting_with(self, prefix: str, limit: int) -> list[int]:
        """Return ids of labels whose name or title begins with a prefix, whatever its case."""
        found = dict.fromkeys(islice(self._matching(folded(prefix)), 2 * limit))
        return list(found)[:limit]  # a label comes twice at most: by its name, and by its title

    def id_of(self, name: str) -> int | None:
        """Return the id of a label, whose name is spelled like this; None if there is none."""
        for label in self._matching(folded(name) + BEHIND):
            if self.names[label] == name:
                return label
        return None

    def _matching(self, prefix: str) -> Iterator[int]:
        wanted = prefix.encode("utf-8", "replace")
        at = bisect_left(range(len(self._ids)), wanted, key=self._key)
        while at < len(self._ids) and self._key(at).startswith(wanted):
            yield int(self._ids[at])
            at += 1

    def _key(self, at: int) -> bytes:
        return self._pool[self._ends[at] : self._ends[at + 1]]


def folded(text: str) -> str:
    """Return a name without what does not count: case, and how letters are composed."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return folded.replace("\0", " ").replace(BEHIND, " ")
