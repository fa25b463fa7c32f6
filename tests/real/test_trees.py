"""Label trees on real titles: what must hold at a size where rounding, ties and threads show."""

from __future__ import annotations

import numpy as np
import pytest

from multitudes import store
from multitudes.data import ReadOptions, read_dataset
from multitudes.features import TfidfFeatures
from multitudes.linear import XRLinear
from multitudes.metrics import precision_at_k

pytestmark = pytest.mark.real

# P@k of libpecos 1.2.8 with the same features and settings, mean of seeds 0 to 2, in percent, as
# measured by tests/peer/test_trees_pecos.py.
LIBPECOS = {1: 88.69, 3: 80.28, 5: 69.74}


@pytest.fixture(scope="module")
def data(shared_data):
    """X, Y, X_test, Y_test of eurlex-titles."""
    source = shared_data("eurlex-titles")
    training = read_dataset(source, options=ReadOptions(split="trn"))
    test = read_dataset(source, labels=training, options=ReadOptions(split="tst"))
    features = TfidfFeatures()
    X = features.fit_transform(training.texts)
    return X, training.Y, features.transform(test.texts), test.Y


@pytest.fixture(scope="module")
def model(data):
    return XRLinear(n_jobs=2).fit(*data[:2])


def assert_same(left, right):
    np.testing.assert_array_equal(left.labels, right.labels)
    np.testing.assert_array_equal(left.scores, right.scores)


def test_precision_is_that_of_libpecos(data):
    X, Y, X_test, Y_test = data
    predictions = [
        XRLinear(random_state=random_state).fit(X, Y).predict(X_test) for random_state in range(3)
    ]
    for k, expected in LIBPECOS.items():
        found = [100 * precision_at_k(p, Y_test, k=k) for p in predictions]
        assert abs(np.mean(found) - expected) < 0.5


def test_one_thread_makes_the_same_model(data, model):
    alone = XRLinear(n_jobs=1).fit(*data[:2])
    assert alone.tree_ == model.tree_
    for a, b in zip(alone.levels_, model.levels_, strict=True):
        for name, array in vars(a).items():
            np.testing.assert_array_equal(array, vars(b)[name], err_msg=name)
    assert_same(alone.predict(data[2]), model.predict(data[2]))


def test_a_batch_is_its_single_rows(data, model):
    X_test = data[2]
    batch = model.predict(X_test, top_k=10)
    for i in range(0, X_test.shape[0], 40):
        assert_same(model.predict(X_test[[i]], top_k=10), batch[[i]])


def test_all_clusters_find_at_least_the_best_of_a_beam(data, model):
    X_test = data[2][:300]
    narrow = model.predict(X_test, top_k=5, beam_width=10)
    full = model.predict(X_test, top_k=5, beam_width=model.tree_.n_leaves)
    assert (full.scores >= narrow.scores).all()
    assert (full.labels[:, 0] == narrow.labels[:, 0]).mean() > 0.95


def test_fewer_bits_cost_less_than_half_a_point(data):
    X, Y, X_test, Y_test = data
    precision, bytes_of = {}, {}
    for weights in ("float32", "float16", "int8"):
        model = XRLinear(weights=weights).fit(X, Y)
        precision[weights] = 100 * precision_at_k(model.predict(X_test), Y_test, k=5)
        bytes_of[weights] = sum(level.nbytes for level in model.levels_)
    assert bytes_of["int8"] < bytes_of["float16"] < bytes_of["float32"]
    assert abs(precision["float16"] - precision["float32"]) < 0.1
    assert abs(precision["int8"] - precision["float32"]) < 0.5


def test_saved_and_loaded_it_predicts_the_same(data, model, tmp_path):
    store.save(model, tmp_path / "model")
    again = store.load(tmp_path / "model")
    assert_same(again.predict(data[2]), model.predict(data[2]))
