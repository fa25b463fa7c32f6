"""Labels fused on purpose: their two members must be found in different leaves again.

The labels are those of the catalogue that belong to one topic; facets ("handmade") and places go
with every topic and have no leaf of their own. What counts is a fusion of two labels of different
topics with at least `MIN_INSTANCES` instances each. Its members end in different leaves if the leaf
that most instances of the one belong to is not that of the other. An instance belongs to the leaf,
among those of the fused label, whose other labels it resembles most.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from multitudes.data import make_catalogue
from multitudes.disentangle import Disentangled, entangle, random_assignment
from multitudes.disentangle.sense_learning import sense_uses
from multitudes.features import TfidfFeatures
from multitudes.kernels.threads import ThreadTeam
from multitudes.linear import XRLinear
from multitudes.metrics import precision_at_k

MIN_INSTANCES = 10
EVEN = 0.25  # of a fused label's instances: what the rarer member of an even fusion has at least
SEEDS = range(3)
MODEL = XRLinear(branching=8, max_leaf_size=50)


@pytest.fixture(scope="module")
def shop():
    """X, Y of labels of one topic, and the topic of each label."""
    made = make_catalogue(20_000, n_labels=3000, random_state=1)
    n, Y = len(made.dataset), made.dataset.Y
    topics = sp.csr_array((np.ones(n, np.float32), (np.arange(n), made.topics)))
    counts = (Y.T @ topics).toarray()
    topical = np.flatnonzero(counts.max(axis=1) > 0.8 * np.maximum(counts.sum(axis=1), 1))
    X = TfidfFeatures().fit_transform(made.dataset.texts)
    return X, sp.csr_array(Y[:, topical]), counts[topical].argmax(axis=1)


def fused(shop):
    """(fused labels, [(fused label, its two members), ...]) for each seed."""
    _, Y, topics = shop
    sizes = Y.sum(axis=0)
    for random_state in SEEDS:
        entangled = entangle(Y, None, 2, "hard", random_state=random_state)
        pairs = [(label, entangled.members(label)) for label in range(entangled.n_fused)]
        yield (
            entangled.Y,
            [
                (label, members)
                for label, members in pairs
                if len(members) == 2
                and topics[members[0]] != topics[members[1]]
                and sizes[members].min() >= MIN_INSTANCES
            ],
        )


def in_different_leaves(tree, shop, fused_Y, fusions):
    """Bool (n_fusions,)."""
    X, Y, _ = shop
    with ThreadTeam() as team:
        uses = sense_uses(tree, X, fused_Y, team)
    uses.data[:] = 1
    found = []
    for label, members in fusions:
        slots = np.flatnonzero(tree.slot_labels == label)
        counts = (uses[slots] @ Y[:, members]).toarray()  # (leaves of the label, 2)
        found.append(len(set(counts.argmax(axis=0))) == 2)
    return np.array(found)


@pytest.fixture(scope="module")
def separated(shop):
    """For overlap 2 and 3, and with copies placed at random: (in different leaves, even)."""
    sizes = shop[1].sum(axis=0)
    found = {2: [], 3: [], "random": []}
    even = []
    for fused_Y, fusions in fused(shop):
        even += [sizes[m].min() >= EVEN * sizes[m].sum() for _, m in fusions]
        trees = {}
        for overlap in (2, 3):
            model = Disentangled(MODEL, overlap=overlap, rounds=2, match_width=1, keep_examples=0)
            trees[overlap] = model.fit(shop[0], fused_Y).models_[0].tree_
        plain = clone(MODEL).fit_matcher(shop[0], fused_Y).tree_
        leaves, like = (tree.label_clusters(tree.depth - 1) for tree in (plain, trees[2]))
        trees["random"] = plain.with_leaves(random_assignment(leaves, like, random_state=0))
        for name, tree in trees.items():
            found[name].append(in_different_leaves(tree, shop, fused_Y, fusions))
    return {name: np.concatenate(parts) for name, parts in found.items()}, np.array(even)


def test_members_of_even_fusions_end_in_different_leaves(separated):
    found, even = separated
    assert even.sum() > 200
    assert found[2][even].mean() >= 0.8


def test_members_of_all_fusions_do_with_three_leaves(separated):
    found, even = separated
    assert len(even) > 300
    assert found[3].mean() >= 0.8


def test_copies_placed_at_random_separate_far_fewer(separated):
    found, even = separated
    assert found["random"][even].mean() < 0.6


def test_precision_rises(shop):
    X, Y, _ = shop
    order = np.random.default_rng(0).permutation(X.shape[0])
    train, test = order[:16_000], order[16_000:]
    fused_Y = entangle(Y, None, 2, "hard", random_state=0).Y
    plain = clone(MODEL).fit(X[train], fused_Y[train]).predict(X[test])
    model = Disentangled(MODEL, match_width=1).fit(X[train], fused_Y[train])
    found = model.predict(X[test])
    for k in (1, 3, 5):
        assert precision_at_k(found, fused_Y[test], k=k) > precision_at_k(plain, fused_Y[test], k=k)
