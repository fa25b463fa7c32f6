"""Members of an ensemble: what they read, and which of its labels they know."""

import types

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.errors import ConfigError, DataError, MultitudesError
from multitudes.features import DenseFeatures, PassThrough, TfidfFeatures
from multitudes.fusion.members import (
    Given,
    Learning,
    Member,
    adopted,
    given_members,
    needed_texts,
    set_jobs,
)
from multitudes.fusion.reference import Reference
from multitudes.linear import OneVsAll, XRLinear
from multitudes.types import Predictions


@pytest.mark.parametrize(
    ("features", "reads_texts"),
    [(TfidfFeatures(), True), (PassThrough(), False), (DenseFeatures(), False), (None, False)],
)
def test_texts_are_needed_where_features_are_made_of_them(features, reads_texts):
    given = Given("a", XRLinear(), features, is_tagger=False, is_fitted=False)
    assert given.reads_texts is reads_texts


def test_labels_have_ids_of_the_member():
    member = Member("a", XRLinear(), label_map=np.array([4, -1, 0]))  # its second is no label here
    assert [member.own_label(label) for label in range(5)] == [2, None, None, None, 0]
    assert member.knows(5).tolist() == [True, False, False, False, True]


def test_a_member_without_a_map_has_the_same_ids():
    member = Member("a", XRLinear())
    assert member.own_label(3) == 3
    assert member.knows(3).all()


class Saying:
    """A model that says what it was told to."""

    def __init__(self, said):
        self.said = said

    def fit(self, X, y):
        return self

    def predict(self, X, *, top_k=5):
        return self.said


def test_labels_of_a_member_become_those_of_the_ensemble():
    said = Predictions.from_lists([[2, 1, 0], [1, 2], [1]], [[3, 2, 1], [5, 4], [7]], 3)
    member = Member("a", Saying(said), label_map=np.array([4, -1, 0]))
    found = member.candidates(None, top_k=3, n_labels=5)
    assert found.labels.tolist() == [[0, 4, -1], [0, -1, -1], [-1, -1, -1]]
    inf = np.inf
    assert found.scores.tolist() == [[3, 1, -inf], [4, -inf, -inf], [-inf, -inf, -inf]]
    assert found.n_labels == 5
    every = Member("a", Saying(said), label_map=np.array([4, 3, 0]))
    found = every.candidates(None, top_k=3, n_labels=5)
    assert found.labels.tolist() == [[0, 3, 4], [3, 0, -1], [3, -1, -1]]
    assert found.labels.dtype == np.int32
    assert found.scores.tolist() == said.scores.tolist()
    assert Member("a", Saying(said)).candidates(None, top_k=3, n_labels=3) is said


def test_what_a_member_says_is_checked():
    with pytest.raises(MultitudesError, match="'a' must return .*Predictions, got list"):
        Member("a", Saying([[1]])).candidates(None, top_k=1, n_labels=3)
    said = Predictions.from_lists([[1]], None, 3)
    with pytest.raises(MultitudesError, match="'a' predicts among 3 labels, not 4"):
        Member("a", Saying(said)).candidates(None, top_k=1, n_labels=4)
    with pytest.raises(MultitudesError, match="among 3 labels, not 2"):
        Member("a", Saying(said), label_map=np.array([1, 0])).candidates(None, top_k=1, n_labels=4)


def test_labels_of_instances_over_those_of_the_member():
    Y = sp.csr_array(np.array([[1.0, 0, 0, 0, 1], [0, 1, 1, 0, 0]]))
    member = Member("a", XRLinear(), label_map=np.array([4, -1, 0]))
    assert member.own_labels(Y).toarray().tolist() == [[1, 0, 1], [0, 0, 0]]
    assert Member("a", XRLinear()).own_labels(Y) is Y


def test_features_that_members_share_read_once():
    class Counting:
        n = 0

        def transform(self, texts):
            Counting.n += 1
            return [len(text) for text in texts]

    shared, other, made = Counting(), Counting(), {}
    members = [Member("a", None, shared), Member("b", None, shared), Member("c", None, other)]
    assert [one.read(["ab"], made) for one in members] == [[2]] * 3
    assert Counting.n == 2
    assert members[0].read(["abc"]) == [3]
    assert Member("d", None).read(["abc"], made) == ["abc"]


def test_another_model_does_not_lie_in_the_folder_of_the_first():
    member = Member("a", XRLinear(), label_map=np.array([1]), source=Reference("/m", "0" * 64))
    changed = member.with_model(OneVsAll())
    assert isinstance(changed.model, OneVsAll)
    assert (changed.source, changed.name, changed.label_map.tolist()) == (None, "a", [1])


def tagger(classes, *, is_fitted=True, **attributes):
    """What a tagger has, as far as members are asked for it."""
    return types.SimpleNamespace(
        model="xr-linear", features=None, fit=print, predict=print, predict_ids=print,
        classes_=classes, model_=XRLinear(), features_=TfidfFeatures(),
        __sklearn_is_fitted__=lambda: is_fitted, **attributes,
    )  # fmt: skip


def test_names_of_members():
    inside = types.SimpleNamespace(model=XRLinear(), fit=print, predict=print)
    given = given_members(
        [XRLinear(), XRLinear(), ("mine", XRLinear()), tagger(["a"]), inside,
         (PassThrough(), XRLinear())]
    )  # fmt: skip
    assert [one.name for one in given] == [
        "XRLinear", "XRLinear 2", "mine", "xr-linear", "SimpleNamespace(XRLinear)", "XRLinear 3",
    ]  # fmt: skip
    assert [one.is_tagger for one in given] == [False, False, False, True, False, False]
    assert [one.name for one in given_members({"a": XRLinear(), "b": OneVsAll()})] == ["a", "b"]
    # Those that are named count, and one that has no name of its own may have theirs.
    assert [one.name for one in given_members([("XRLinear", OneVsAll()), XRLinear()])] == [
        "XRLinear", "XRLinear 2",
    ]  # fmt: skip


def test_members_that_are_fitted_are_known():
    fitted = Saying(None)
    fitted.counts_ = 3
    private = Saying(None)
    private._counts_ = 3
    given = given_members([fitted, Saying(None), private, tagger([]), tagger([], is_fitted=False)])
    assert [one.is_fitted for one in given] == [True, False, False, True, False]
    assert tagger([]).model == "xr-linear"
    for takes_texts in (True, False):
        (one,) = given_members([tagger([], takes_texts_=takes_texts)])
        assert one.reads_texts is takes_texts
    assert given_members([tagger([])])[0].reads_texts


def test_labels_of_a_tagger_are_found_by_name():
    (given,) = given_members([tagger(["b", "x", "a"])])
    assert adopted(given, ["a", "b", "c"], 3).label_map.tolist() == [1, -1, 0]
    (given,) = given_members([tagger(["a", "b"])])
    assert adopted(given, ["a", "b", "c"], 3).label_map.tolist() == [0, 1]  # one fewer
    same = adopted(given, ["a", "b"], 2)
    assert same.label_map is None
    assert same.features is given.model.features_
    assert same.model is not given.model.model_  # it may learn
    assert adopted(given, None, 2).label_map is None
    with pytest.raises(DataError, match="knows 2 labels by name, and there are 3"):
        adopted(given, None, 3)


def test_features_of_their_own_are_not_mixed_up():
    with pytest.raises(ConfigError, match=r"members\[1\]: 3 are not features"):
        given_members([XRLinear(), (3, XRLinear())])
    only_fitted = types.SimpleNamespace(transform=print)
    only_unfitted = types.SimpleNamespace(fit_transform=print)
    for features in (only_fitted, only_unfitted):
        assert given_members([(features, XRLinear())])[0].features is features


def test_threads_are_set_where_there_is_a_setting():
    model, saying = XRLinear(n_jobs=2), Saying(None)
    set_jobs(model, None)
    assert model.n_jobs == 2
    set_jobs(model, 3)
    assert model.n_jobs == 3
    set_jobs(saying, 3)
    assert not hasattr(saying, "n_jobs")


def test_texts_of_labels_are_asked_for_where_they_are_needed():
    needs, takes = (types.SimpleNamespace(needs_label_texts=needs) for needs in (True, False))
    assert needed_texts(needs, ["x"], "a") == ["x"]
    assert needed_texts(takes, None, "a") is None
    with pytest.raises(DataError, match="'a' reads the texts of labels"):
        needed_texts(needs, None, "a")


def test_some_of_what_is_learned_from():
    Y = sp.csr_array(np.eye(3))
    texts = Learning(["a", "b", "c"], Y, ["x"] * 3, None, True).take(np.array([2, 0]))
    assert texts.inputs == ["c", "a"]
    assert texts.Y.toarray().tolist() == [[0, 0, 1], [1, 0, 0]]
    assert texts.label_texts == ["x"] * 3
    features = Learning(Y, Y, None, None, False).take(np.array([1]))
    assert features.inputs.toarray().tolist() == [[0, 1, 0]]
