"""What the lines of a catalogue can be about, how common each label is, and how lines are drawn.

A line has a topic and a base label ("gardening", "shears"), up to two facets ("handmade") and a
place ("Sheffield"). Each is a label of its own, and so are their compounds ("shears, handmade",
"shears, Sheffield", "shears, handmade, Sheffield"): more than three hundred thousand in all, of
which a catalogue uses the most probable.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from multitudes.data.catalogue.words import FAMILIES, PLACES, Family, Phrases, topics
from multitudes.types import IntArray

TOPIC_FALL, LABEL_FALL, FACET_FALL, PLACE_FALL = 0.7, 0.8, 0.6, 0.5  # exponents of Zipf's law
N_FACETS_CHANCES = (0.2, 0.4, 0.4)  # none, one, two
SILENT_FACET = 0.15  # a facet that is true but not said
CHOICES = 6  # random numbers a line needs for its wording
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """Everything a line can be about, numbered.

    A slot is a label of a topic, e.g. "belt" of fashion: a sense of the label. `slot_topics`,
    `slot_names` and `slot_phrases` run over slots; `slot_chances` (n_slots,) sum to 1.
    `facet_chances` (n_topics, n_facets): the chance of each facet, given the topic.
    """

    topic_names: Phrases
    slot_topics: IntArray
    slot_names: Phrases
    slot_phrases: tuple[Phrases, ...]
    slot_chances: Floats
    facet_names: Phrases
    facet_chances: Floats
    place_chances: Floats

    @property
    def ambiguous(self) -> list[str]:
        """Base labels with several senses, sorted."""
        names, counts = np.unique(np.array(self.slot_names), return_counts=True)
        return [str(name) for name in names[counts > 1]]


@cache
def world() -> World:
    """Build the world that the word lists describe."""
    known = topics()
    facet_names = tuple(sorted({name for family in FAMILIES.values() for name in family.facets}))
    chances = np.zeros((len(known), len(facet_names)))
    for i, topic in enumerate(known):
        own = list(FAMILIES[topic.family].facets)
        chances[i, [facet_names.index(name) for name in own]] = falling(len(own), FACET_FALL)
    topic_chances = falling(len(known), TOPIC_FALL)
    return World(
        topic_names=tuple(topic.name for topic in known),
        slot_topics=np.array([i for i, topic in enumerate(known) for _ in topic.labels]),
        slot_names=tuple(name for topic in known for name in topic.labels),
        slot_phrases=tuple(phrases for topic in known for phrases in topic.labels.values()),
        slot_chances=np.concatenate(
            [
                chance * falling(len(topic.labels), LABEL_FALL)
                for chance, topic in zip(topic_chances, known, strict=True)
            ]
        ),
        facet_names=facet_names,
        facet_chances=chances,
        place_chances=falling(len(PLACES), PLACE_FALL),
    )


def falling(n: int, exponent: float) -> Floats:
    """Return n chances that fall with the rank by Zipf's law and sum to 1."""
    weights = np.arange(1, n + 1) ** -exponent
    return np.asarray(weights / weights.sum())


def base_names(ambiguity: float) -> list[str]:
    """Return the base label of each slot: fused ones share a name, the others say their topic.

    The first ``round(ambiguity * n)`` ambiguous labels, spread over the alphabet, are fused.
    """
    w = world()
    ambiguous = w.ambiguous
    ranked = sorted(range(len(ambiguous)), key=lambda i: (i * 0.6180339887) % 1)
    fused = {ambiguous[i] for i in ranked[: round(ambiguity * len(ambiguous))]}
    kept_apart = set(ambiguous) - fused
    return [
        f"{name} ({w.topic_names[topic]})" if name in kept_apart else name
        for name, topic in zip(w.slot_names, w.slot_topics, strict=True)
    ]


@dataclass(frozen=True)
class Code:
    """Numbers a label by its parts: topic, base label, two facets, place; 0 means none."""

    n_bases: int

    def pack(
        self, topic: object, base: object, facet: object, other: object, place: object
    ) -> IntArray:
        """Return one number per combination of parts (arrays broadcast)."""
        w = world()
        code: IntArray = np.asarray(topic, np.int64)
        sizes = (self.n_bases, len(w.facet_names), len(w.facet_names), len(PLACES))
        for size, part in zip(sizes, (base, facet, other, place), strict=True):
            code = code * (size + 1) + np.asarray(part, np.int64)
        return code

    def unpack(self, code: int) -> tuple[int, int, int, int, int]:
        """Return the parts of a number."""
        w = world()
        parts = []
        for size in (len(PLACES), len(w.facet_names), len(w.facet_names), self.n_bases):
            code, part = divmod(code, size + 1)
            parts.append(part)
        place, other, facet, base = parts
        return code, base, facet, other, place


def candidates(code: Code, bases: IntArray) -> tuple[IntArray, Floats]:
    """Return the codes of all possible labels, sorted, and the chance that a line is about each.

    `bases` (n_slots,) numbers the base label of each slot from 1.
    """
    w = world()
    n_facets = len(w.facet_names)
    slots = w.slot_chances[:, None]
    facets = 1.2 * w.facet_chances[w.slot_topics]  # a line has 1.2 facets on average
    f = np.arange(1, n_facets + 1)
    p = np.arange(1, len(PLACES) + 1)
    b = bases[:, None]
    first, second = np.triu_indices(n_facets, 1)
    groups = [
        (code.pack(w.slot_topics + 1, 0, 0, 0, 0), w.slot_chances),
        (code.pack(0, bases, 0, 0, 0), w.slot_chances),
        (code.pack(0, 0, f, 0, 0) + 0 * b, slots * facets),
        (code.pack(0, 0, 0, 0, p) + 0 * b, slots * w.place_chances),
        (code.pack(0, b, f, 0, 0), slots * facets),
        (code.pack(0, b, 0, 0, p), slots * w.place_chances),
        (code.pack(0, b, first + 1, second + 1, 0), slots * facets[:, first] * facets[:, second]),
        (
            code.pack(0, b[:, :, None], f[:, None], 0, p),
            (slots * facets)[:, :, None] * w.place_chances,
        ),
    ]
    codes = np.concatenate([np.ravel(c) for c, _ in groups])
    chances = np.concatenate([np.ravel(chance) for _, chance in groups])
    codes, inverse = np.unique(codes[chances > 0], return_inverse=True)
    totals: Floats = np.bincount(inverse, chances[chances > 0]).astype(np.float64)
    return codes, totals


def label_name(code: Code, number: int, bases: list[str]) -> str:
    """Return the name of a label: its parts joined by commas."""
    w = world()
    topic, base, facet, other, place = code.unpack(number)
    parts = [
        w.topic_names[topic - 1] if topic else "",
        bases[base - 1] if base else "",
        w.facet_names[facet - 1] if facet else "",
        w.facet_names[other - 1] if other else "",
        PLACES[place - 1] if place else "",
    ]
    return ", ".join(part for part in parts if part)


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
    """Return the text of each line."""
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
