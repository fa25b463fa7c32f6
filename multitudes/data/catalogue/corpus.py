"""The embedded corpus: believable catalogue lines whose labels, senses and groups are known.

Every line comes from a small world of topics (`words`), so that the right answer to any
question about it is known: which labels it truly has, in which sense it uses an ambiguous one
("jaguar" of cars or of big cats), and which of its labels nobody wrote down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from multitudes import memory
from multitudes.data.catalogue.world import (
    Code,
    Draws,
    base_names,
    candidates,
    draw_lines,
    label_name,
    line_texts,
    world,
)
from multitudes.data.dataset import Dataset
from multitudes.data.groups import merge_labels, random_groups
from multitudes.errors import ConfigError
from multitudes.scikit_learn import sparse as sp
from multitudes.types import IntArray, Sparse
from multitudes.validation import checked_count, checked_number

# How often a true label is written down: a shelf mark nearly always, a general heading less.
OBSERVED = {"topic": 0.6, "base": 0.9, "facet": 0.5, "place": 0.3, "compound": 0.85}
MAX_LABELS = 100_000
BYTES_PER_LINE = 400  # of a text and its labels, about


@dataclass(frozen=True)
class Catalogue:
    """A generated corpus and everything that is known about it.

    Parameters
    ----------
    dataset : Dataset
        Texts and the labels that were written down, as a user would have them.
    senses : CSR (n_instances, n_senses), float32
        1 where a line truly uses a sense, written down or not.
    sense_labels : int array (n_senses,)
        The label of each sense; an ambiguous label has several.
    sense_names : tuple of str
        E.g. ``"belt (fashion)"``.
    topics : int array (n_instances,)
        The topic of each line.
    topic_names : tuple of str
    """

    dataset: Dataset
    senses: sp.csr_array[Any]
    sense_labels: IntArray
    sense_names: tuple[str, ...]
    topics: IntArray
    topic_names: tuple[str, ...]

    @property
    def truth(self) -> sp.csr_array[Any]:
        """All true labels, CSR (n_instances, n_labels): a superset of ``dataset.Y``."""
        n_senses = len(self.sense_labels)
        shape = (n_senses, self.dataset.n_labels)
        cells = (np.arange(n_senses), self.sense_labels)
        membership = sp.csr_array((np.ones(n_senses, np.float32), cells), shape=shape)
        return _ones(self.senses @ membership)

    @property
    def ambiguous_labels(self) -> IntArray:
        """Ids of the labels with more than one sense."""
        counts = np.bincount(self.sense_labels, minlength=self.dataset.n_labels)
        return np.flatnonzero(counts > 1)


def make_catalogue(
    n_instances: int = 5000,
    *,
    n_labels: int = 1500,
    ambiguity: float = 1.0,
    group_size: int = 1,
    random_state: int = 0,
) -> Catalogue:
    """Generate a catalogue of shop, library and listings lines.

    The same seed gives the same lines whatever `n_labels`, `ambiguity` and `group_size`: only
    their labels and groups differ.

    Parameters
    ----------
    n_instances : int
        Number of lines.
    n_labels : int
        Size of the label space, up to 100,000: the most probable labels are taken. Rare ones may
        have no instance.
    ambiguity : float
        Share of the ambiguous words whose senses share one label, from 0 (every sense has its own,
        as "belt (fashion)") to 1 (all share: "belt").
    group_size : int
        Above 1, lines are dealt into groups of this size at random (the last may be smaller),
        and each group lists the labels of its members, repeated as often as they occur.
    random_state : int
        Same seed, same catalogue.

    Examples
    --------
    >>> from multitudes.data import make_catalogue
    >>> shop = make_catalogue(1000, random_state=7)
    >>> len(shop.dataset), shop.dataset.n_labels
    (1000, 1500)
    """
    _check(n_instances, n_labels, ambiguity, group_size)
    random_state = checked_count(random_state, "random_state", at_least=0)
    memory.ask(BYTES_PER_LINE * n_instances, f"a catalogue of {n_instances:,} lines")
    lines_rng, observed_rng, group_rng = np.random.default_rng(random_state).spawn(3)
    draws = draw_lines(n_instances, lines_rng)
    space = _LabelSpace.build(n_labels, ambiguity)
    senses, sense_codes, seen = _mark(draws, space, observed_rng)
    sense_labels = space.labels_of_senses(sense_codes)
    Y = _labels(senses, seen, sense_labels, n_labels)
    w = world()
    dataset = Dataset(
        Y=Y,
        texts=line_texts(draws),
        label_names=space.names,
        uids=[f"item-{i:07d}" for i in range(n_instances)],
        **_groups(Y, group_size, group_rng),
    )
    topics = w.slot_topics[draws.slots]
    names = space.sense_names(sense_codes)
    return Catalogue(dataset, senses, sense_labels, names, topics, w.topic_names)


def _check(n_instances: int, n_labels: int, ambiguity: float, group_size: int) -> None:
    checked_count(n_instances, "n_instances")
    checked_count(group_size, "group_size")
    if checked_count(n_labels, "n_labels") > MAX_LABELS:
        raise ConfigError(f"n_labels must be from 1 to {MAX_LABELS:,}, got {n_labels}")
    checked_number(ambiguity, "ambiguity", at_least=0, at_most=1)


@dataclass(frozen=True)
class _LabelSpace:
    """The labels in use, by code; senses have codes too, with slots in the place of base labels."""

    code: Code
    label_codes: IntArray  # (n_labels,), sorted
    bases: IntArray  # (n_slots,), from 1
    base_names: list[str]
    sense_code: Code

    @classmethod
    def build(cls, n_labels: int, ambiguity: float) -> _LabelSpace:
        slots = base_names(ambiguity)
        names, inverse = np.unique(np.array(slots), return_inverse=True)
        code, bases = Code(len(names)), inverse + 1
        codes, chances = candidates(code, bases)
        most = np.sort(np.lexsort((codes, -chances))[:n_labels])
        return cls(code, codes[most], bases, names.tolist(), Code(len(slots)))

    @property
    def names(self) -> list[str]:
        return [label_name(self.code, int(c), self.base_names) for c in self.label_codes]

    def find(self, codes: IntArray) -> IntArray:
        """Return the label id of each code, -1 if the label is not in use."""
        places = np.searchsorted(self.label_codes, codes)
        places = np.minimum(places, len(self.label_codes) - 1)
        return np.where(self.label_codes[places] == codes, places, -1)

    def labels_of_senses(self, sense_codes: IntArray) -> IntArray:
        labels = []
        for number in sense_codes.tolist():
            topic, slot, facet, other, place = self.sense_code.unpack(number)
            base = self.bases[slot - 1] if slot else 0
            labels.append(int(self.code.pack(topic, base, facet, other, place)))
        return self.find(np.array(labels, np.int64))

    def sense_names(self, sense_codes: IntArray) -> tuple[str, ...]:
        w = world()
        pairs = zip(w.slot_names, w.slot_topics, strict=True)
        slots = [f"{name} ({w.topic_names[topic]})" for name, topic in pairs]
        return tuple(label_name(self.sense_code, int(c), slots) for c in sense_codes)


def _mark(
    draws: Draws, space: _LabelSpace, rng: np.random.Generator
) -> tuple[sp.csr_array[Any], IntArray, sp.csr_array[Any]]:
    """Return the senses (n_instances, n_senses) of lines, their codes, and those written down."""
    n = len(draws.slots)
    rows, codes, seen = [], [], []
    for kind, topic, slot, facet, other, place, has in _kinds(draws):
        base = space.bases[draws.slots] if kind in ("base", "compound") else 0
        used = space.find(space.code.pack(topic, base, facet, other, place) + np.zeros(n, int)) >= 0
        # Drawn for every line, so that the same lines are seen whatever the label space.
        drawn = rng.random(n) < OBSERVED[kind]
        kept = np.asarray(has) & used
        codes.append(
            (space.sense_code.pack(topic, slot, facet, other, place) + np.zeros(n, int))[kept]
        )
        rows.append(np.flatnonzero(kept))
        seen.append(drawn[kept])
    sense_codes, senses = np.unique(np.concatenate(codes), return_inverse=True)
    shape = (n, len(sense_codes))
    cells = np.concatenate(rows), senses
    everything = sp.csr_array((np.ones(len(senses), np.float32), cells), shape=shape)
    observed = sp.csr_array((np.concatenate(seen).astype(np.float32), cells), shape=shape)
    observed.eliminate_zeros()
    return _ones(everything), sense_codes, _ones(observed)


def _kinds(draws: Draws) -> list[tuple[str, Any, Any, Any, Any, Any, Any]]:
    """Return (kind, topic, slot, facet, other facet, place, has): which lines have which parts."""
    every = np.ones(len(draws.slots), bool)
    slots, first, second, places = draws.slots + 1, draws.first, draws.second, draws.places + 1
    low, high = np.minimum(first, second), np.maximum(first, second)
    pair = np.where(low > 0, low, 0), np.where(low > 0, high, 0)
    topics = world().slot_topics[draws.slots] + 1
    named = draws.names_place
    return [
        ("topic", topics, 0, 0, 0, 0, every),
        ("base", 0, slots, 0, 0, 0, every),
        ("facet", 0, 0, first, 0, 0, first > 0),
        ("facet", 0, 0, second, 0, 0, second > 0),
        ("place", 0, 0, 0, 0, places, named),
        ("compound", 0, slots, first, 0, 0, first > 0),
        ("compound", 0, slots, second, 0, 0, second > 0),
        ("compound", 0, slots, 0, 0, places, named),
        ("compound", 0, slots, *pair, 0, low > 0),
        ("compound", 0, slots, first, 0, places, named & (first > 0)),
        ("compound", 0, slots, second, 0, places, named & (second > 0)),
    ]


def _labels(
    senses: Sparse, seen: Sparse, sense_labels: IntArray, n_labels: int
) -> sp.csr_array[Any]:
    """Return the labels that were written down (n_instances, n_labels)."""
    seen = seen.tocoo()
    cells = seen.coords[0], sense_labels[seen.coords[1]]
    return _ones(sp.csr_array((seen.data, cells), shape=(senses.shape[0], n_labels)))


def _ones(matrix: Sparse) -> sp.csr_array[Any]:
    csr: sp.csr_array[Any] = sp.csr_array(matrix)
    csr.sum_duplicates()
    csr.data = np.ones(csr.nnz, np.float32)
    return csr


def _groups(Y: sp.csr_array[Any], group_size: int, rng: np.random.Generator) -> dict[str, Any]:
    """Deal lines into groups at random, and count the labels of their members."""
    if group_size == 1:
        return {}
    groups = random_groups(Y.shape[0], group_size, random_state=rng)
    names = [f"page {i + 1}" for i in range(groups.shape[1])]
    return {"groups": groups, "group_labels": merge_labels(Y, groups), "group_names": names}
