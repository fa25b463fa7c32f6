"""Bad input to XRLinear, and data at the edge of what can be learned: an error, or this result."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.errors import ConfigError, DataError, NotFittedError
from multitudes.labels import LabelTree
from multitudes.linear import XRLinear
from multitudes.linear.tasks import SolverConfig

from .problems import assert_same_levels, assert_same_predictions, problem

SMALL = {"branching": 4, "max_leaf_size": 5}


@pytest.fixture(scope="module")
def data():
    return problem(n=200, n_features=60, n_labels=80)


@pytest.fixture(scope="module")
def model(data):
    return XRLinear(**SMALL).fit(*data)


@pytest.mark.parametrize(
    "call",
    [
        lambda m, X: m.predict(X),
        lambda m, X: m.explain(X[[0]], 0),
        lambda m, _: m.to_state(),
        lambda m, _: m.remove_labels([0]),
    ],
)
def test_before_fit_nothing_can_be_asked(data, call):
    with pytest.raises(
        NotFittedError, match="this XRLinear has not learned anything yet: call fit"
    ):
        call(XRLinear(), data[0])


def broken(data, value):
    X = data[0].copy()
    X.data[5] = value
    return X


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(data, model, value):
    with pytest.raises(DataError, match=f"X has the value {value} at row"):
        XRLinear().fit(broken(data, value), data[1])
    with pytest.raises(DataError, match=f"X has the value {value} at row"):
        model.predict(broken(data, value))


def test_unsorted_indices_are_put_in_order(data, model):
    X, Y = data
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in pairwise(X.indptr)])
    shuffled = sp.csr_array((X.data[order], X.indices[order], X.indptr), shape=X.shape)
    assert not shuffled.has_sorted_indices
    assert_same_levels(XRLinear(**SMALL).fit(shuffled, Y).levels_, model.levels_)
    assert_same_predictions(model.predict(shuffled), model.predict(X))


def test_a_feature_count_that_differs_is_refused(data, model):
    with pytest.raises(DataError, match="X has 59 features, but .* is expecting 60 features"):
        model.predict(data[0][:, :59])


def test_other_numbers_of_rows_are_refused(data):
    with pytest.raises(DataError, match="X has 200 rows and y has 199"):
        XRLinear().fit(data[0], data[1][:199])


def test_without_any_label_there_is_nothing_to_learn(data):
    with pytest.raises(DataError, match="no instance has a label"):
        XRLinear().fit(data[0], sp.csr_array(data[1].shape))
    with pytest.raises(DataError, match="y has no labels"):
        XRLinear().fit(data[0], sp.csr_array((200, 0)))


def test_texts_are_sent_to_the_tagger(data):
    with pytest.raises(DataError, match="texts go through multitudes.Tagger"):
        XRLinear().fit(["a text"] * 200, data[1])


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_one_label_is_the_answer_to_everything(data, share):
    Y = (np.arange(200)[:, None] < share * 200).astype(np.float32)
    predictions = XRLinear().fit(data[0], Y).predict(data[0])
    assert predictions.labels.tolist() == [[0]] * 200
    assert np.isfinite(predictions.scores).all()


def test_labels_without_instances_come_last(data):
    X, Y = data
    with_empty = sp.hstack([Y, sp.csr_array((200, 20))], format="csr")
    model = XRLinear(**SMALL).fit(X, with_empty)
    assert model.n_labels_ == 100
    predictions = model.predict(X, top_k=3)
    assert (predictions.labels < 80).mean() > 0.99


def test_instances_without_features_get_the_commonest(data):
    X, Y = data
    X = sp.vstack([X, sp.csr_array((50, 60), dtype=np.float32)], format="csr")
    common = np.zeros((50, 80), np.float32)
    common[:, 11] = 1
    model = XRLinear(**SMALL).fit(X, sp.vstack([Y, sp.csr_array(common)], format="csr"))
    assert model.predict(X[-3:], top_k=1).labels.tolist() == [[11]] * 3


def test_no_features_at_all_still_rank_by_frequency(data):
    _, Y = data
    nothing = sp.csr_array((200, 0), dtype=np.float32)
    model = XRLinear(score_function="raw", solver=SolverConfig(epsilon=0.01)).fit(nothing, Y)
    counts = np.asarray(Y.sum(axis=0)).ravel()
    labels = model.predict(nothing[:2], top_k=1).labels
    assert counts[labels[0, 0]] == counts.max()


def test_identical_instances_are_told_apart_by_nothing(data):
    X = sp.csr_array(np.tile(data[0][[0]].toarray(), (200, 1)))
    model = XRLinear(**SMALL).fit(X, data[1])
    predictions = model.predict(X)
    assert np.isfinite(predictions.scores).all()
    assert (predictions.labels == predictions.labels[0]).all()


@pytest.mark.parametrize("name", ["top_k", "beam_width"])
@pytest.mark.parametrize("value", [0, -1, 2.5, "5", True])
def test_counts_in_predict_must_be_whole_and_positive(data, model, name, value):
    with pytest.raises(ConfigError, match=f"{name} must be a whole number >= 1, got"):
        model.predict(data[0], **{name: value})


@pytest.mark.parametrize("threshold", ["high", np.nan])
def test_a_threshold_must_be_a_number(data, model, threshold):
    with pytest.raises(ConfigError, match="threshold must be a number"):
        model.predict(data[0], threshold=threshold)


@pytest.mark.parametrize("labels", [[80], [-1], ["cat"], [0.5]])
def test_labels_asked_for_must_exist(data, model, labels):
    with pytest.raises(DataError, match="labels must be"):
        model.predict(data[0], labels=labels)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("branching", 1),
        ("branching", 2.0),
        ("max_leaf_size", 0),
        ("beam_width", 0),
        ("beam_width", -3),
        ("score_function", "cosine"),
        ("negatives", "random"),
        ("solver", "liblinear"),
        ("weights", "float64"),
        ("tree", [[0, 1]]),
        ("random_state", -1),
        ("n_jobs", 0),
    ],
)
def test_settings_that_are_not_allowed_are_named(data, setting, value):
    with pytest.raises(ConfigError, match=setting):
        XRLinear(**{setting: value}).fit(*data)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample_weight": np.ones(3)}, "sample_weight must have 200 entries"),
        ({"sample_weight": -np.ones(200)}, "sample_weight must hold finite numbers >= 0"),
        ({"sample_weight": np.zeros(200)}, "sample_weight is zero everywhere"),
        ({"label_weight": np.ones(79)}, "label_weight must have 80 entries"),
        ({"hard_negatives": np.ones((200, 79))}, "hard_negatives must have the shape of y"),
        ({"hard_negatives": ["a"]}, "hard_negatives must be a"),
        ({"label_embeddings": np.eye(79)}, "label_embeddings has 79 rows, but y has 80 labels"),
        ({"label_embeddings": np.full((80, 2), np.nan)}, "NaN"),
    ],
)
def test_options_of_fit_that_do_not_fit_are_named(data, options, message):
    with pytest.raises(DataError, match=message):
        XRLinear(**SMALL).fit(*data, **options)


def test_a_tree_of_other_labels_is_refused(data):
    with pytest.raises(ConfigError, match="the tree holds 5 labels, but y has 80"):
        XRLinear(tree=LabelTree.flat(5)).fit(*data)


def test_a_failed_fit_leaves_the_fitted_model_whole(data):
    X, Y = data
    model = XRLinear(**SMALL).fit(X, Y)
    before = model.predict(X)
    with pytest.raises(DataError):
        model.fit(broken(data, np.nan), Y)
    assert_same_predictions(model.predict(X), before)
