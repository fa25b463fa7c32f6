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

# Label 0 in both leaves and apart, 1 in both and not, 2 and 3 in one, 4 in both but used in one.
TREE = LabelTree.from_leaves([[0, 1, 2, 4], [0, 1, 3, 4]])


def by_hand(trees=1):
    """A model as `ambiguous` sees it; the slots are 0, 1, 2, 4 and 0, 1, 3, 4."""
    nothing = np.full((8, 1), -1, np.int32)
    notes = SenseNotes(
        counts=np.array([30, 10, 50, 20, 10, 10, 50, 0], np.int32),
        examples=nothing,
        nearest=nothing,
        words=nothing,
        word_weights=np.zeros((8, 1), np.float16),
        silhouettes=np.array([0.8, 0.1, 0, 0, 0.4, -0.1, 0, 0], np.float32),
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
    assert found.label.tolist() == [0, 1]
    quarter = 0.25 * 2 + 0.75 * np.log2(4 / 3)  # bits of a division 10 : 30
    np.testing.assert_allclose(found.variation, [quarter, 1], atol=1e-6)
    np.testing.assert_allclose(found.silhouette, [0.75 * 0.8 + 0.25 * 0.4, 0], atol=1e-6)
    expected = [(0.8 * 30 / 32 + 0.4 * 10 / 12) / 2, 0]
    np.testing.assert_allclose(found.separation, expected, atol=1e-6)
    assert found.n_instances.tolist() == [40, 20]


def test_one_text_does_not_make_a_sense():
    """Of two labels whose senses are as far apart, the one divided evenly ranks first."""
    model = by_hand()
    nothing = np.full((4, 1), -1, np.int32)
    notes = SenseNotes(
        np.array([49, 25, 1, 25], np.int32),
        *(nothing, nothing, nothing, np.zeros((4, 1), np.float16)),
        np.array([0.9, 0.8, 0, 0.8], np.float32),
    )
    tree = LabelTree.from_leaves([[0, 1], [0, 1]])
    model.models_, model.notes_ = [SimpleNamespace(tree_=tree)], [notes]
    found = columns(ambiguous(model))
    assert found.label.tolist() == [1, 0]
    assert found.silhouette[1] > found.silhouette[0]


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
    assert roc_auc_score(truly, found.separation) > 0.75
    assert roc_auc_score(truly, found.separation) > roc_auc_score(truly, found.variation)
    assert truly[:50].mean() > 0.9  # of all 0.36


def test_models_without_senses():
    with pytest.raises(NotFittedError, match="has not learned anything yet"):
        ambiguous(Disentangled(XRLinear()))
    model = by_hand()
    model.notes_ = [None]
    with pytest.raises(ConfigError, match="keep_examples=0"):
        ambiguous(model)
    with pytest.raises(ConfigError, match="min_instances must be a whole number >= 0"):
        ambiguous(by_hand(), min_instances=-1)
