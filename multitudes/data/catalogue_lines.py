"""Draw the lines of a catalogue and put them into words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from multitudes.data.catalogue_labels import world
from multitudes.data.catalogue_words import FAMILIES, PLACES, Family, topics
from multitudes.types import IntArray

N_FACETS_CHANCES = (0.2, 0.4, 0.4)  # none, one, two
SILENT_FACET = 0.15  # a facet that is true but not said
CHOICES = 6  # random numbers a line needs for its wording
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class Draws:
    """What each line is about, and the random numbers that choose its words.

    `slots`, `places` int (n,), from 0; `first`, `second` int (n,): facets from 1, 0 for none;
    `silent` bool (n, 2): facets that the text leaves out; `wording` int (n, CHOICES).
    """

    slots: IntArray
    places: IntArray
    first: IntArray
    second: IntArray
    silent: npt.NDArray[np.bool_]
    wording: IntArray

    @property
    def names_place(self) -> npt.NDArray[np.bool_]:
        """Whether the text of each line says its place."""
        families = [FAMILIES[topics()[i].family] for i in world().slot_topics]
        counts = np.array([len(family.templates) for family in families])
        longest = max(counts)
        says = np.zeros((len(families), longest), bool)
        for i, family in enumerate(families):
            says[i, : counts[i]] = ["{place}" in template for template in family.templates]
        return np.asarray(says[self.slots, self.wording[:, 0] % counts[self.slots]])


def draw_lines(n: int, rng: np.random.Generator) -> Draws:
    """Draw what `n` lines are about."""
    w = world()
    slots = rng.choice(len(w.slot_chances), n, p=w.slot_chances)
    places = rng.choice(len(PLACES), n, p=w.place_chances)
    n_facets = rng.choice(len(N_FACETS_CHANCES), n, p=N_FACETS_CHANCES)
    # The two largest of log(chance) + Gumbel noise are a draw of two without replacement.
    with np.errstate(divide="ignore"):
        noisy = np.log(w.facet_chances)[w.slot_topics[slots]]
    noisy = noisy + rng.gumbel(size=noisy.shape)
    best = np.argsort(-noisy, axis=1, kind="stable")[:, :2] + 1
    return Draws(
        slots=slots,
        places=places,
        first=np.where(n_facets >= 1, best[:, 0], 0),
        second=np.where(n_facets >= 2, best[:, 1], 0),
        silent=rng.random((n, 2)) < SILENT_FACET,
        wording=rng.integers(0, 1 << 30, (n, CHOICES)),
    )


def line_texts(draws: Draws) -> list[str]:
    """The text of each line."""
    w = world()
    families = [FAMILIES[topics()[i].family] for i in w.slot_topics]
    facets = np.stack([draws.first, draws.second], axis=1)
    facets[draws.silent] = 0
    rows = zip(
        draws.slots.tolist(),
        draws.places.tolist(),
        facets.tolist(),
        draws.wording.tolist(),
        strict=True,
    )
    return [
        line(families[slot], w.slot_phrases[slot], PLACES[place], said, wording)
        for slot, place, said, wording in rows
    ]


def line(
    family: Family, phrases: tuple[str, ...], place: str, facets: list[int], wording: list[int]
) -> str:
    """Put one line into words."""
    names = world().facet_names
    remarks = ""
    for facet in facets:
        if facet:
            ways = family.facets[names[facet - 1]]
            remarks += ", " + ways[wording[4] % len(ways)]
    text = family.templates[wording[0] % len(family.templates)].format(
        phrase=phrases[wording[1] % len(phrases)],
        opening=family.openings[wording[2] % len(family.openings)],
        source=family.sources[wording[3] % len(family.sources)],
        facets=remarks,
        place=place,
        year=1890 + wording[5] % 135,
        number=1000 + wording[5] % 9000,
        day=DAYS[wording[5] % 7],
    )
    return text[0].upper() + text[1:]
