"""What is held out, and what members learn from."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes import Ensemble, OneVsAll, XRLinear
from multitudes.errors import ConfigError, DataError
from multitudes.fusion import HeldOutConfig
from multitudes.fusion.members import given_members
from multitudes.fusion.training import checked_learning, checked_text_list, counts_of, known_counts
from multitudes.types import Predictions
from tests.contract.cases import features

Y = sp.csr_array(np.array([[1.0, 0, 0], [1, 1, 0]]))


def test_shares_of_what_is_held_out():
    assert HeldOutConfig(share=0.5).size(100) == 50
    assert HeldOutConfig(share=0.9, at_most=7).size(100) == 7
    for wrong in ({"share": 0.0}, {"share": 0.91}, {"at_most": 0}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            HeldOutConfig(**wrong)
    assert HeldOutConfig(at_most=1).size(100) == 1


def test_texts_or_features_and_a_name_for_each_label():
    data = checked_learning(["a", "b"], Y, ["x", "y", "z"], None, is_texts=True)
    assert (data.inputs, data.label_texts, data.label_names) == (["a", "b"], ["x", "y", "z"], None)
    assert data.is_texts
    data = checked_learning(Y, Y, None, ["x", "y", "z"], is_texts=False)
    assert (data.inputs.shape, data.label_texts, data.is_texts) == ((2, 3), None, False)
    for names, message in (
        ((["x"], None), "label_texts must be one for each of 3 labels, got 1"),
        ((None, ["x"]), "label_names must be one for each of 3 labels, got 1"),
    ):
        with pytest.raises(DataError, match=message):
            checked_learning(Y, Y, *names, is_texts=False)
    with pytest.raises(DataError, match="X has 1 rows and y has 2"):
        checked_learning(["a"], Y, None, None, is_texts=True)
    with pytest.raises(DataError, match=r"texts\[1\] must be a str, got int"):
        checked_text_list(["a", 3])


def test_uses_of_labels_are_counted_where_members_are_trained():
    X, Y = features()
    data = checked_learning(X, Y, None, None, is_texts=False)
    counts = np.asarray(Y.sum(axis=0)).ravel()
    new, fitted = given_members([XRLinear(), OneVsAll().fit(X, Y)])
    np.testing.assert_array_equal(known_counts([new, fitted], data, None), counts)
    assert known_counts([fitted], data, None).tolist() == [0] * 40
    np.testing.assert_array_equal(known_counts([fitted], data, counts), counts)
    with pytest.raises(ConfigError, match="label_counts are for members that are all fitted"):
        known_counts([new, fitted], data, counts)
    assert counts_of(Y).dtype == np.float32
    np.testing.assert_array_equal(counts_of(Y), counts)


class Noting:
    """Predicts the first labels, and notes what it was fitted on."""

    seen: list[tuple[float, ...]] = []

    def fit(self, X, y):
        self.n_ = X.shape[0]
        Noting.seen.append(tuple(X.toarray()[:, 0].tolist()))
        return self

    def predict(self, X, *, top_k=5):
        n = X.shape[0]
        return Predictions(np.tile(np.arange(2), (n, 1)), np.tile([1.0, 0.5], (n, 1)), 2)

    def get_params(self, deep=True):
        return {}


def test_what_is_held_out_is_drawn_by_the_seed_and_stays_in_order():
    n = 40
    X = sp.csr_array(np.arange(1.0, n + 1)[:, None])
    Y = sp.csr_array(np.tile([[1.0, 0.0], [0.0, 1.0]], (n // 2, 1)))
    parts = {}
    for seed in (0, 1):
        Noting.seen.clear()
        Ensemble([Noting()], fusion="rank", random_state=seed).fit(X, Y)
        part, whole = Noting.seen
        assert whole == tuple(range(1, n + 1))
        assert len(part) == 28
        assert list(part) == sorted(part)
        parts[seed] = part
    order = np.random.default_rng(0).permutation(n)
    assert parts[0] == tuple(np.sort(order[12:]) + 1)
    assert parts[0] != parts[1]


def test_with_too_little_to_hold_out_nothing_is():
    X = sp.csr_array(np.arange(1.0, 4)[:, None])
    Y = sp.csr_array(np.array([[1.0, 0], [0, 1], [1, 0]]))
    Noting.seen.clear()
    ensemble = Ensemble([Noting(), Noting()]).fit(X, Y)
    assert Noting.seen == [(1, 2, 3)] * 2
    assert ensemble.report_.fusion == "rank"
    assert ensemble.report_.n_held_out == 0
    assert ensemble.fusion_.weights_.table.tolist() == [[0.5, 0.5]]
    # One of four is held out, and has all labels that there are: everything is learned from twice.
    X = sp.csr_array(np.arange(1.0, 5)[:, None])
    aside = np.random.default_rng(0).permutation(4)[0]
    Y = sp.csr_array((np.ones(1), ([aside], [0])), shape=(4, 2))
    Noting.seen.clear()
    Ensemble([Noting()]).fit(X, Y)
    assert Noting.seen == [(1, 2, 3, 4)] * 2
