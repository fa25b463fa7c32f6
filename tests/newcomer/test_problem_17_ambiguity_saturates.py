"""Problem 17: the most ambiguous labels all had 1.00, and most of them 10 texts."""

import numpy as np
import pytest

from multitudes.data import make_catalogue
from multitudes.disentangle import Disentangled, ambiguous
from multitudes.features import TfidfFeatures
from multitudes.linear import XRLinear


@pytest.fixture(scope="module")
def shop():
    """A catalogue of labels with one sense, and 24 that were planted: two labels under one name.

    A third of the planted ones have few texts, as many as common labels that are not ambiguous.
    """
    made = make_catalogue(6_000, n_labels=500, ambiguity=0.0, random_state=4).dataset
    counts = np.bincount(made.Y.indices, minlength=500)
    rng = np.random.default_rng(0)
    pool = rng.permutation(np.flatnonzero((counts >= 10) & (counts <= 80)))[:48].reshape(24, 2)
    fused = np.arange(500)
    fused[pool[:, 1]] = pool[:, 0]
    Y = made.Y.copy()
    Y.indices = fused[Y.indices].astype(np.int32)
    Y.sum_duplicates()
    Y.data[:] = 1
    return TfidfFeatures().fit_transform(made.texts), Y, pool[:, 0]


@pytest.fixture(scope="module")
def found(shop):
    X, Y, _ = shop
    return ambiguous(Disentangled(XRLinear(max_leaf_size=20), match_width=1).fit(X, Y))


def test_the_top_of_the_list_does_not_saturate(found):
    top = [row.separation for row in found[:15]]
    assert len({round(value, 2) for value in top}) > 7
    assert top[0] < 0.99


def test_planted_ambiguous_labels_come_first(shop, found):
    planted = set(shop[2].tolist())
    listed = [row.label for row in found]
    assert len(planted & set(listed)) > 15
    assert np.mean([label in planted for label in listed[:15]]) > 0.5
    assert np.mean([label in planted for label in listed]) < 0.1


def test_few_texts_are_weak_evidence(found):
    assert np.median([row.n_instances for row in found[:15]]) > 20
    rare = [row for row in found if row.n_instances < 15]
    assert len(rare) > 30
    assert max(row.separation for row in rare) < found[0].separation
