"""Whether the two members of a fused label end in different leaves.

What counts is a fusion of two labels with at least `MIN_INSTANCES` instances each, of different
topics where topics are known. Its members end in different leaves if the leaf that most instances
of the one belong to is not that of the other. An instance belongs to the leaf, among those of the
fused label, whose other labels it resembles most. `tests/disentangle/test_known_senses.py` asks the
same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from benchmarks.trees.data import Problem
from multitudes.data import make_catalogue
from multitudes.disentangle.sense_learning import sense_uses
from multitudes.features import TfidfFeatures
from multitudes.kernels.threads import ThreadTeam
from multitudes.types import IntArray, Sparse

MIN_INSTANCES = 10
EVEN = 0.25  # of a fused label's instances: what the rarer member of an even fusion has at least
CATALOGUE = 20_000  # products
TRAINING = 16_000
ONE_TOPIC = 0.8  # of a label's instances at least; facets and places go with every topic


class Pairs(NamedTuple):
    """Fusions that count.

    Parameters
    ----------
    members : list of (fused label, its two members)
    even : bool array (n_fusions,)
    """

    members: list[tuple[int, IntArray]]
    even: npt.NDArray[np.bool_]


def pairs_of(made: Any, Y: Sparse, topics: IntArray | None) -> Pairs:
    """Fusions of two labels that are large enough, and of different topics.

    Parameters
    ----------
    made : Entangled
    Y : CSR (n_instances, n_labels)
        Before labels were fused.
    topics : int array (n_labels,), optional
    """
    n_instances = np.bincount(Y.indices, minlength=Y.shape[1])
    members = [
        (label, pair)
        for label in range(made.n_fused)
        if len(pair := made.members(label)) == 2
        and n_instances[pair].min() >= MIN_INSTANCES
        and (topics is None or topics[pair[0]] != topics[pair[1]])
    ]
    even = [n_instances[pair].min() >= EVEN * n_instances[pair].sum() for _, pair in members]
    return Pairs(members, np.array(even, bool))


def in_different_leaves(
    tree: Any, X: Sparse, Y: Sparse, fused_Y: Sparse, fusions: list[tuple[int, IntArray]]
) -> npt.NDArray[np.bool_]:
    """Whether the instances of the two members have their majorities in different leaves."""
    with ThreadTeam() as team:
        uses = sense_uses(tree, X, fused_Y, team)
    uses.data[:] = 1
    found = []
    for label, members in fusions:
        slots = np.flatnonzero(tree.slot_labels == label)
        counts = (uses[slots] @ Y[:, members]).toarray()  # (leaves of the label, 2)
        found.append(len(set(counts.argmax(axis=0))) == 2)
    return np.array(found, bool)


def catalogue(_: Path) -> tuple[Problem, IntArray]:
    """The embedded catalogue's labels of one topic, and the topic of each label."""
    made = make_catalogue(CATALOGUE, n_labels=3000, random_state=1)
    n, Y = len(made.dataset), made.dataset.Y
    topics = sp.csr_array((np.ones(n, np.float32), (np.arange(n), made.topics)))
    counts = (Y.T @ topics).toarray()
    largest = counts.max(axis=1)
    topical = np.flatnonzero(largest > ONE_TOPIC * np.maximum(counts.sum(axis=1), 1))
    X = TfidfFeatures().fit_transform(made.dataset.texts or ())
    Y = sp.csr_array(Y[:, topical])
    order = np.random.default_rng(0).permutation(n)
    train, test = np.sort(order[:TRAINING]), np.sort(order[TRAINING:])
    return Problem(X[train], Y[train], X[test], Y[test]), counts[topical].argmax(axis=1)
