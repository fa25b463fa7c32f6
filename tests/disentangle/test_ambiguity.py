"""Ambiguity: known values by hand, and the catalogue's truly ambiguous labels."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from multitudes.data import make_catalogue
from multitudes.disentangle import Ambiguity, Disentangled, ambiguous
from multitudes.disentangle.senses import SenseNotes
from multitudes.errors import ConfigError, NotFittedError
from multitudes.features import TfidfFeatures
from multitudes.labels import LabelTree
from multitudes.linear import XRLinear

# Label 0 in both leaves with different words, 1 in both with the same, 2 and 3 in one, 4 in both
# but used in one.
TREE = LabelTree.from_leaves([[0, 1, 2, 4], [0, 1, 3, 4]])


def by_hand(trees=1):
    """A model as `ambiguous` sees it; the slots are 0, 1, 2, 4 and 0, 1, 3, 4."""
    words = np.array([[0, 1], [2, 3], [4, -1], [5, 6], [7, 8], [2, 3], [9, -1], [-1, -1]])
    weights = np.array([[3, 4], [3, 4], [1, 0], [1, 1], [1, 1], [4, 3], [1, 0], [0, 0]])
    nothing = np.full((8, 1), -1, np.int32)
    notes = SenseNotes(
        counts=np.array([30, 10, 50, 20, 10, 10, 50, 0], np.int32),
        examples=nothing,
        nearest=nothing,
        words=words.astype(np.int32),
        word_weights=weights.astype(np.float16),
    )
    return SimpleNamespace(
        models_=[SimpleNamespace(tree_=TREE)] * trees,
        notes_=[notes] * trees,
        n_labels_=5,
        n_features_in_=10,
    )


def columns(rows):
    """The rows of `ambiguous` as a column per field."""
    return Ambiguity(*(np.array(column) for column in zip(*rows, strict=True)))


@pytest.mark.parametrize("trees", [1, 3])
def test_known_values(trees):
    found = columns(ambiguous(by_hand(trees)))
    assert found.label.tolist() == [0, 1, 4]
    quarter = 0.25 * 2 + 0.75 * np.log2(4 / 3)  # bits of a division 10 : 30
    np.testing.assert_allclose(found.variation, [quarter, 1, 0], atol=1e-6)
    np.testing.assert_allclose(found.cosine, [0, 24 / 25, 1], atol=1e-6)
    np.testing.assert_allclose(found.distance, [quarter, 1 / 25, 0], atol=1e-6)
    assert found.n_instances.tolist() == [40, 20, 20]


def test_three_copies_weigh_by_pairs_of_instances():
    model = by_hand()
    tree = LabelTree.from_leaves([[0], [0], [0]])
    words = np.array([[0, -1], [0, -1], [1, -1]], np.int32)
    notes = SenseNotes(
        np.array([2, 2, 4], np.int32),
        *(np.full((3, 1), -1, np.int32) for _ in range(2)),
        words,
        np.array([[1, 0], [1, 0], [1, 0]], np.float16),
    )
    model.models_, model.notes_, model.n_labels_ = [SimpleNamespace(tree_=tree)], [notes], 1
    found = columns(ambiguous(model, min_instances=0))
    # Of the pairs in different senses 2 * 2 have cosine 1, and 2 * 4 + 2 * 4 have 0.
    np.testing.assert_allclose(found.cosine, [4 / 20], atol=1e-6)
    np.testing.assert_allclose(found.variation, [1.5], atol=1e-6)


def test_rare_labels_are_left_out_and_the_most_ambiguous_comes_first():
    assert [row.label for row in ambiguous(by_hand(), min_instances=30)] == [0]
    top = ambiguous(by_hand())[0]
    assert (top.label, top.n_instances) == (0, 40)


def test_truly_ambiguous_labels_of_the_catalogue_rank_above_the_others():
    """Facets and broad topics, which cross-cut leaves without being ambiguous, keep it from 1."""
    shop = make_catalogue(8000, n_labels=600, random_state=1)
    X = TfidfFeatures().fit_transform(shop.dataset.texts)
    model = Disentangled(XRLinear(max_leaf_size=25), match_width=1).fit(X, shop.dataset.Y)
    found = columns(ambiguous(model))
    truly = np.isin(found.label, shop.ambiguous_labels)
    assert truly.sum() > 100
    assert (~truly).sum() > 100
    assert roc_auc_score(truly, found.distance) > 0.72
    assert roc_auc_score(truly, found.distance) > roc_auc_score(truly, found.variation)
    assert truly[:20].mean() > 1.3 * truly.mean()


def test_models_without_senses():
    with pytest.raises(NotFittedError, match="has not learned anything yet"):
        ambiguous(Disentangled(XRLinear()))
    model = by_hand()
    model.notes_ = [None]
    with pytest.raises(ConfigError, match="keep_examples=0"):
        ambiguous(model)
    with pytest.raises(ConfigError, match="min_instances must be a whole number >= 0"):
        ambiguous(by_hand(), min_instances=-1)
