"""Members of a fitted ensemble that learn, or not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.errors import ConfigError, DataError
from multitudes.fusion import Ensemble
from multitudes.fusion.members import Member
from multitudes.fusion.updating import with_instances, with_labels, without_labels
from multitudes.types import Predictions


class Plain:
    """Can do nothing but predict."""

    def __init__(self, n_labels=3):
        self.n_labels_ = n_labels
        self.told = []

    def fit(self, X, y):
        return self

    def predict(self, X, *, top_k=5):
        return Predictions.from_lists([[0]] * len(X), None, self.n_labels_)


class Learner(Plain):
    """Notes what it is told, of a copy of its own."""

    def noted(self, *what):
        self.told = [*self.told, what]
        return self

    def partial_fit(self, X, y):
        return self.noted("instances", list(X), y.toarray().tolist())

    def add_labels(self, X, y):
        return self.noted("labels", list(X), y.toarray().tolist())

    def remove_labels(self, labels):
        return self.noted("without", list(labels))


class Reader(Learner):
    """Takes new labels by their texts."""

    needs_label_texts = False

    def fit(self, X, y, *, label_texts=None):
        return self

    def add_labels(self, label_texts, examples=None):
        return self.noted("names", list(label_texts), examples)


Y = sp.csr_array(np.array([[1.0, 0, 0], [0, 1, 0]]))
GROWN = sp.csr_array(np.array([[1.0, 0, 0, 1, 0], [0, 1, 0, 1, 1]]))
TEXTS = ["a", "b"]


def test_further_instances_reach_those_that_learn():
    plain, learner = Member("plain", Plain()), Member("all", Learner())
    some = Member("some", Learner(2), label_map=np.array([1, -1]))
    other = Member("other", Learner(1), label_map=np.array([2]))
    changed, left = with_instances([plain, learner, some, other], TEXTS, Y)
    assert left == ["plain"]
    assert changed[0] is plain
    assert changed[1].model.told == [("instances", TEXTS, Y.toarray().tolist())]
    assert changed[2].model.told == [("instances", TEXTS, [[0, 0], [1, 0]])]
    assert changed[2].label_map.tolist() == [1, -1]
    assert changed[3] is other  # none of these instances has a label that it knows
    assert learner.model.told == []  # what was there before stays as it is


def test_new_labels_reach_those_that_take_them():
    plain, learner = Member("plain", Plain()), Member("all", Learner())
    some = Member("some", Learner(2), label_map=np.array([2, 0]))
    reader, silent = Member("reader", Reader()), Member("silent", Reader())
    members = [plain, learner, some, reader]
    changed, left = with_labels(members, TEXTS, GROWN, 3, ["d", "e"])
    assert left == ["plain"]
    assert changed[0].label_map.tolist() == [0, 1, 2]
    assert changed[1].model.told == [("labels", TEXTS, GROWN.toarray().tolist())]
    assert changed[1].label_map is None
    assert changed[2].model.told == [("labels", TEXTS, [[0, 1, 1, 0], [0, 0, 1, 1]])]
    assert changed[2].label_map.tolist() == [2, 0, 3, 4]
    assert changed[3].model.told == [("names", ["d", "e"], [["a", "b"], ["b"]])]
    assert learner.model.told == reader.model.told == []
    ((nameless,), _) = with_labels([silent], TEXTS, GROWN, 3, None)
    assert nameless.model.told == [("names", ["", ""], [["a", "b"], ["b"]])]
    # A map that has become that of everything is none.
    first_three = Member("first", Learner(), label_map=np.array([0, 1, 2]))
    assert with_labels([first_three], TEXTS, GROWN, 3, None)[0][0].label_map is None


def test_labels_that_go_are_forgotten_or_kept_to_oneself():
    plain, learner = Member("plain", Plain()), Member("all", Learner())
    some = Member("some", Learner(2), label_map=np.array([2, 0]))
    untouched = Member("untouched", Learner(1), label_map=np.array([2]))
    all_gone = Member("gone", Learner(1), label_map=np.array([0]))
    members = [plain, learner, some, untouched, all_gone]
    changed, kept = without_labels(members, [0], 3)
    assert kept.tolist() == [1, 2]
    assert changed[0].label_map.tolist() == [-1, 0, 1]
    assert changed[1].model.told == [("without", [0])]
    assert changed[1].label_map is None
    assert changed[2].model.told == [("without", [1])]
    assert changed[2].label_map.tolist() == [1]
    assert changed[3].model.told == []
    assert changed[3].label_map.tolist() == [1]
    assert changed[4].model.told == []  # a model without labels would be none
    assert changed[4].label_map.tolist() == [-1]
    assert learner.model.told == []
    with_gap = Member("gap", Learner(), label_map=np.array([0, -1, 1]))
    changed, _ = without_labels([with_gap], [1], 3)
    assert changed[0].model.told == [("without", [1, 2])]
    assert changed[0].label_map.tolist() == [0]
    # Of what is left everything is known, in order.
    last_gone = Member("last", Plain(2), label_map=np.array([0, 1]))
    assert without_labels([last_gone], [2], 3)[0][0].label_map is None


def test_an_ensemble_adds_what_it_is_told_to_its_counts():
    ensemble = Ensemble([("a", Learner()), ("b", Reader())]).join(3)
    assert ensemble.label_counts_.tolist() == [0, 0, 0]
    assert ensemble.reads_texts is False
    ensemble.takes_texts_ = True
    ensemble.partial_fit(TEXTS, Y)
    assert ensemble.label_counts_.tolist() == [1, 1, 0]
    with pytest.raises(DataError, match="more columns than the 3 known labels, got 3"):
        ensemble.add_labels(TEXTS, Y)
    with pytest.raises(DataError, match="must be 2 texts of new labels, got 1"):
        ensemble.add_labels(TEXTS, GROWN, label_texts=["d"])
    ensemble.add_labels(TEXTS, GROWN, label_texts=["d", "e"])
    assert ensemble.label_counts_.tolist() == [1, 1, 0, 2, 1]  # known ones are not counted again
    assert (ensemble.n_labels_, ensemble.fusion_.n_labels_) == (5, 5)
    ensemble.remove_labels([0, 4])
    assert ensemble.label_counts_.tolist() == [1, 0, 2]
    assert ensemble.n_labels_ == 3


def test_those_that_cannot_are_named():
    ensemble = Ensemble([("a", Plain()), ("b", Plain()), ("c", Learner())]).join(3)
    ensemble.takes_texts_ = True
    with pytest.warns(UserWarning, match="^a, b cannot learn from further instances, and stay"):
        ensemble.partial_fit(TEXTS, Y)
    with pytest.warns(UserWarning, match="^a, b cannot take new labels"):
        ensemble.add_labels(TEXTS, GROWN)
    alone = Ensemble([("a", Plain())]).join(3)
    alone.takes_texts_ = True
    with pytest.raises(ConfigError, match="none of the members can learn from further instances"):
        alone.partial_fit(TEXTS, Y)
