"""How many threads a model computes with: one for a few short texts, more for others.

Starting threads takes as long as tagging some texts, and while others are answered there is no core
left for them: on two busy cores 64 titles took 32 microseconds each with one thread, 65 with two.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from multitudes.tagger import Tagger
from multitudes.tagger.settings import set_where_known

FEW_CHARACTERS = 32_000

_threads: WeakKeyDictionary[Tagger, int] = WeakKeyDictionary()


def use_threads(tagger: Tagger, n_characters: int, n_threads: int) -> None:
    """Have a tagger take at most so many threads for its next texts; answers are the same."""
    wanted = 1 if n_characters <= FEW_CHARACTERS else n_threads
    if _threads.get(tagger) == wanted:
        return
    for part in (tagger.model_, tagger.features_):
        set_where_known(part, "n_jobs", wanted)
    _threads[tagger] = wanted
