"""Eagle: any model, taught by labels of groups."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

from multitudes import Disentangled, OneVsAll, Parabel, XRLinear, store
from multitudes.errors import ConfigError, DataError, NotFittedError
from multitudes.features import TfidfFeatures
from multitudes.groups import Eagle, clustered_groups, impute, merge_labels, spread
from multitudes.groups.accuracy import imputation_accuracy
from multitudes.types import Model
from tests.groups.problems import words_of_labels

SMALL = {"branching": 4, "max_leaf_size": 5}
OURS = {"n_steps": "auto", "contrast": True, "use_counts": True}


@pytest.fixture(scope="module")
def data():
    X, _, groups, group_labels = words_of_labels()
    return X, groups, group_labels


@pytest.fixture(scope="module")
def truth():
    return words_of_labels()[1]


MODELS = {
    "xr-linear": XRLinear(**SMALL),
    "parabel": Parabel(n_trees=2, max_leaf_size=5),
    "one-vs-all": OneVsAll(),
    "disentangled": Disentangled(XRLinear(**SMALL)),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("rounds", [0, 2])
def test_learns_with_every_model(name, rounds, data, truth):
    eagle = Eagle(MODELS[name], **OURS, rounds=rounds)
    assert isinstance(eagle, Model)
    assert eagle.fit(*data) is eagle
    assert eagle.score(data[0], truth) > 0.95
    assert len(eagle.history_) in range(min(rounds, 1), rounds + 1)


def test_is_the_model_trained_on_imputed_labels(data):
    X, groups, group_labels = data
    eagle = Eagle(XRLinear(**SMALL)).fit(X, groups, group_labels)
    imputed = impute(X, groups, group_labels).Y
    np.testing.assert_array_equal(eagle.imputation_.Y.toarray(), imputed.toarray())
    found, expected = (
        model.predict(X, top_k=3) for model in (eagle, XRLinear(**SMALL).fit(X, imputed))
    )
    np.testing.assert_array_equal(found.scores, expected.scores)
    assert eagle.n_labels_ == 20
    assert eagle.n_features_in_ == X.shape[1]


@pytest.mark.parametrize(
    "options", [{"contrast": True}, {"use_counts": True}, {"margin": 0.2}, {"n_steps": 0}]
)
def test_passes_its_settings_on(data, options):
    eagle = Eagle(XRLinear(**SMALL), step=0.5, **options).fit(*data)
    expected = impute(*data, step=0.5, **options).Y
    np.testing.assert_array_equal(eagle.imputation_.Y.toarray(), expected.toarray())


def test_rounds_find_more_labels():
    X, Y, groups, group_labels = words_of_labels(size=10, noise=6, as_counts=False)
    before, after = (
        Eagle(XRLinear(**SMALL), n_steps=0, contrast=True, rounds=rounds).fit(
            X, groups, group_labels
        )
        for rounds in (0, 3)
    )
    right = [imputation_accuracy(eagle.imputation_, Y).precision for eagle in (before, after)]
    assert right[1] > right[0] + 0.05
    assert (after.imputation_.Y.sum(), before.history_) == (before.imputation_.Y.sum(), [])
    assert all(0 < one.n_moved < one.n_labels for one in after.history_)
    assert after.history_[-1].n_moved < after.history_[0].n_moved


def test_narrowing_finds_more_labels_of_large_groups_with_sets():
    """Where sets leave most instances without a label that they have."""
    X, Y, _, _ = words_of_labels(n=960, noise=6)
    groups = clustered_groups(X, 5)
    labels = merge_labels(Y, groups, as_counts=False)
    before, after = (
        Eagle(XRLinear(**SMALL), **OURS, rounds=rounds).fit(X, groups, labels)
        for rounds in (0, "narrow")
    )
    assert len(after.history_) == 5
    one, other = (imputation_accuracy(eagle.imputation_, Y) for eagle in (before, after))
    assert other.recall > one.recall + 0.2
    assert after.score(X, Y) > before.score(X, Y) + 0.02
    assert Eagle.from_state(after.to_state()).rounds == "narrow"


def test_rounds_end_when_labels_stop_moving():
    """Groups of one leave no choice."""
    X, Y, _, _ = words_of_labels()
    alone = sp.csr_array(np.eye(X.shape[0], dtype=np.float32))
    eagle = Eagle(XRLinear(**SMALL), rounds=5).fit(X, alone, Y)
    assert [one.n_moved for one in eagle.history_] == [0]


def test_a_label_of_a_single_group_keeps_its_instance(data):
    """No model of another fold can know it; the embedding decides, as before."""
    X, groups, group_labels = data
    extra = np.zeros((60, 1), np.float32)
    extra[17] = 1
    labels = sp.csr_array(sp.hstack([group_labels, extra]))
    first, last = (
        Eagle(XRLinear(**SMALL), **OURS, rounds=rounds).fit(X, groups, labels).imputation_.Y
        for rounds in (0, 2)
    )
    np.testing.assert_array_equal(first[:, [20]].toarray(), last[:, [20]].toarray())
    assert last[:, [20]].nnz == 1


def test_instances_in_no_group_are_left_out(data):
    X, groups, group_labels = data
    outside = np.vstack([X.toarray(), np.ones((5, X.shape[1]))]).astype(np.float32)
    more = sp.csr_array(sp.vstack([groups, sp.csr_array((5, 60))]))
    inside = Eagle(XRLinear(**SMALL)).fit(X, groups, group_labels)
    both = Eagle(XRLinear(**SMALL)).fit(outside, more, group_labels)
    assert both.imputation_.counts.in_no_group == 5
    assert both.imputation_.Y.shape == (245, 20)
    found, expected = (eagle.predict(X, top_k=3) for eagle in (both, inside))
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_an_instance_in_two_groups(data):
    X, groups, group_labels = data
    twice = groups.toarray()
    twice[0] = 0
    twice[0, :2] = 1
    eagle = Eagle(XRLinear(**SMALL), **OURS, rounds=2).fit(X, sp.csr_array(twice), group_labels)
    assert eagle.imputation_.counts.in_several == 1
    could = spread(sp.csr_array(twice), group_labels)
    assert eagle.imputation_.Y.multiply(could).nnz == eagle.imputation_.Y.nnz


# --- texts


class TextModel(BaseEstimator):
    """TF-IDF and a tree, over texts; it has no scores of pairs."""

    def fit(self, X, Y):
        assert all(isinstance(text, str) for text in X)
        self.features_ = TfidfFeatures()
        self.tree_ = XRLinear(**SMALL).fit(self.features_.fit_transform(X), Y)
        return self

    def predict(self, X, *, top_k=5):
        return self.tree_.predict(self.features_.transform(X), top_k=top_k)


WORDS = ["cat", "dog", "horse", "owl", "barn", "house", "wood", "lake"]
TEXTS = [f"{who} {where}" for _ in range(8) for who in WORDS[:4] for where in WORDS[4:]]


@pytest.mark.parametrize("rounds", [0, 1])
def test_texts_with_features_to_impute_by(rounds):
    Y = sp.csr_array([[float(word in text.split()) for word in WORDS] for text in TEXTS])
    order = np.random.default_rng(0).permutation(len(TEXTS))
    groups = sp.csr_array(np.eye(64)[np.argsort(order) // 2])
    group_labels = sp.csr_array(groups.T @ Y)
    features = TfidfFeatures().fit_transform(TEXTS)
    eagle = Eagle(TextModel(), **OURS, rounds=rounds)
    eagle.fit(TEXTS, groups, group_labels, features=features)
    found = eagle.predict(["an owl in the wood"], top_k=2)
    assert sorted(found.labels[0].tolist()) == [3, 6]
    assert len(eagle.history_) == rounds


def test_texts_alone_are_refused():
    groups = sp.csr_array(np.ones((2, 1)))
    with pytest.raises(DataError, match="pass them as features="):
        Eagle(XRLinear()).fit(["a", "b"], groups, sp.csr_array([[1.0]]))


def test_features_of_other_instances_are_refused(data):
    X, groups, group_labels = data
    with pytest.raises(DataError, match="X has 239 instances and groups has 240 rows"):
        Eagle(XRLinear()).fit(X[:-1], groups, group_labels, features=X)


# --- as every model


def test_the_wrapped_model_stays_unfitted(data):
    inner = XRLinear(**SMALL)
    eagle = Eagle(inner, **OURS, rounds=1).fit(*data)
    assert eagle.model is inner
    assert not hasattr(inner, "tree_")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_same_seed_gives_the_same_model_whatever_the_threads(data, n_jobs):
    settings = {**OURS, "rounds": 2, "random_state": 3}
    one = Eagle(XRLinear(**SMALL), **settings).fit(*data)
    model = XRLinear(**SMALL, n_jobs=n_jobs)
    other = Eagle(model, **settings, n_jobs=n_jobs).fit(*data)
    np.testing.assert_array_equal(one.predict(data[0]).scores, other.predict(data[0]).scores)
    assert one.history_ == other.history_


def test_goes_to_a_state_and_back(data):
    eagle = Eagle(XRLinear(**SMALL), **OURS, rounds=1).fit(*data)
    state = eagle.to_state()
    again = Eagle.from_state(state)
    assert state.kind == "eagle"
    np.testing.assert_array_equal(again.predict(data[0]).scores, eagle.predict(data[0]).scores)
    assert again.history_ == eagle.history_
    assert again.get_params(deep=False) | {"model": None} == eagle.get_params(deep=False) | {
        "model": None
    }
    assert again.n_labels_ == 20


def test_is_stored_and_loaded(data, tmp_path):
    eagle = Eagle(Parabel(n_trees=2, max_leaf_size=5), **OURS).fit(*data)
    store.save(eagle, tmp_path / "model")
    again = store.load(tmp_path / "model", verify=True)
    assert isinstance(again, Eagle)
    np.testing.assert_array_equal(again.predict(data[0]).scores, eagle.predict(data[0]).scores)
    store.save(again, tmp_path / "copy")
    assert not hasattr(again, "imputation_")


@pytest.mark.parametrize("how", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_predict_the_same(data, how):
    eagle = Eagle(XRLinear(**SMALL)).fit(*data)
    np.testing.assert_array_equal(how(eagle).predict(data[0]).scores, eagle.predict(data[0]).scores)


def test_clone_keeps_settings_and_forgets_what_was_learned(data):
    eagle = Eagle(XRLinear(**SMALL), rounds=1, margin=0.1).fit(*data)
    twin = clone(eagle)
    assert (twin.rounds, twin.margin, twin.get_params()["model__branching"]) == (1, 0.1, 4)
    with pytest.raises(NotFittedError, match="this Eagle has not learned anything yet"):
        twin.predict(data[0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rounds": -1}, r"rounds \(a number or 'narrow'\) must be a whole number >= 0"),
        ({"rounds": "all"}, r"rounds \(a number or 'narrow'\)"),
        ({"folds": 1}, "folds must be a whole number >= 2"),
        ({"random_state": -1}, "random_state must be a whole number >= 0"),
        ({"margin": -1.0}, "margin must be a number >= 0"),
        ({"n_steps": "all"}, "n_steps"),
        ({"model": "xr-linear"}, "model must have fit and predict, got str"),
    ],
)
def test_bad_settings_are_refused(data, settings, message):
    with pytest.raises(ConfigError, match=message):
        Eagle(XRLinear()).set_params(**settings).fit(*data)


def test_nothing_to_learn_from_is_refused(data):
    X, groups, _ = data
    empty = sp.csr_array((60, 20), dtype=np.float32)
    with pytest.raises(DataError, match="no instance was given a label"):
        Eagle(XRLinear()).fit(X, groups, empty)


def test_a_model_that_reads_the_texts_of_labels_gets_them():
    pytest.importorskip("torch")
    from tests.encoder.prime_problems import colors, epochs, prime

    texts, Y, names = colors(96)
    pairs = np.random.default_rng(0).permutation(96) // 2
    groups = sp.csr_array((np.ones(96, np.float32), (np.arange(96), pairs)), shape=(96, 48))
    vectors = TfidfFeatures().fit_transform(texts)
    for rounds in (0, 1):
        eagle = Eagle(prime(training=epochs(10)), contrast=True, rounds=rounds)
        eagle.fit(texts, groups, sp.csr_array(groups.T @ Y), features=vectors, label_texts=names)
        assert eagle.score(texts, Y) > 0.6


def test_texts_of_labels_for_a_model_without_use_for_them(data):
    with pytest.raises(ConfigError, match="XRLinear does not read the texts of labels"):
        Eagle(XRLinear(**SMALL)).fit(*data, label_texts=["a"] * 20)


def test_the_papers_method_is_the_default():
    assert Eagle(None).get_params() == {
        "model": None, "n_steps": 20, "step": 0.1, "contrast": False, "use_counts": False,
        "margin": 0.0, "rounds": 0, "folds": 2, "random_state": 0, "n_jobs": None,
    }  # fmt: skip
