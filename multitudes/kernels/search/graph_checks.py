"""Checks of a stored graph of neighbors, before a library that trusts it walks over it."""

from __future__ import annotations

from numba import njit

from multitudes.kernels.arrays import Ints

SOUND = -1


@njit(nogil=True, cache=True)
def first_loose_link(
    levels: Ints,  # IN (n,): on how many levels each node is, at least 1
    links: Ints,  # IN: of each node, 2 * width on the ground level and width on each above
    width: int,  # IN
) -> int:
    """Return the first node with a link to one that is not on the same level, or -1.

    Links are known to be nodes, or negative for none. Every node is on the ground level.
    """
    at = 0
    for node in range(levels.size):
        at += 2 * width
        for level in range(1, levels[node]):
            for place in range(at, at + width):
                if links[place] >= 0 and levels[links[place]] <= level:
                    return node
            at += width
    return SOUND
