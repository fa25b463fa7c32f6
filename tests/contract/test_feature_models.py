"""What every model over features promises beyond `test_models`: exactly the same results."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline

from multitudes import store
from multitudes.disentangle import Disentangled
from multitudes.errors import DataError, NotFittedError
from multitudes.features import TfidfFeatures
from multitudes.linear import SolverConfig, XRLinear
from multitudes.types import Predictions

from .cases import N_LABELS, Case, feature_cases, features, plain_fit
from .neighbors import Neighbors

# Beside ours one that is written by the rules of CONTRIBUTING and has no settings of trees.
FEATURE_CASES = feature_cases() | {"Neighbors": Case(Neighbors, features, plain_fit, frozenset())}


def made(name: str, **settings: Any) -> Any:
    """A model with small settings; of further ones, those that it has."""
    return set_if_known(FEATURE_CASES[name].make(), **settings)


def set_if_known(model: Any, **settings: Any) -> Any:
    """Set settings of the model, or of the model that it wraps, as far as there are such."""
    for key, value in settings.items():
        name = setting_name(model, key)
        if name is not None:
            model.set_params(**{name: value})
    return model


def setting_name(model: Any, key: str) -> str | None:
    """'seed' or 'model__seed', that of the wrapped model if both have one; None if none has."""
    names = [name for name in model.get_params() if name.split("__")[-1] == key]
    return max(names, key=len, default=None)


def flat(state: store.State, prefix: str = "") -> dict[str, Any]:
    """Everything a model learned, by path."""
    found: dict[str, Any] = {f"{prefix}config": dict(state.config)}
    found |= {f"{prefix}{key}": np.asarray(array) for key, array in state.arrays.items()}
    found |= {f"{prefix}{key}": list(strings) for key, strings in state.strings.items()}
    for name, part in state.parts.items():
        found |= flat(part, f"{prefix}{name}/")
    return found


def assert_same_state(left: Any, right: Any) -> None:
    one, other = flat(left.to_state()), flat(right.to_state())
    assert one.keys() == other.keys()
    for key, value in one.items():
        np.testing.assert_equal(value, other[key], err_msg=key)


def assert_same_predictions(left: Predictions, right: Predictions) -> None:
    np.testing.assert_array_equal(left.labels, right.labels)
    np.testing.assert_array_equal(left.scores, right.scores)


@pytest.fixture(scope="module")
def data():
    return features()


@pytest.fixture(scope="module", params=sorted(FEATURE_CASES))
def name(request):
    return request.param


@pytest.fixture(scope="module")
def model(name, data):
    return made(name).fit(*data)


# --- fit


def test_fit_learns(model, data):
    X, Y = data
    best = model.predict(X, top_k=1).labels[:, 0]
    assert Y.toarray()[np.arange(len(best)), best].mean() > 0.9
    assert model.n_labels_ == N_LABELS
    assert model.n_features_in_ == X.shape[1]


def test_a_second_fit_forgets_the_first(name, model, data):
    X, Y = data
    twice = made(name).fit(X[:100, :30], Y[:100, :20]).fit(X, Y)
    assert_same_state(twice, model)


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_the_same_seed_gives_the_same_model_whatever_the_threads(name, model, data, n_jobs):
    again = made(name, n_jobs=n_jobs).fit(*data)
    assert_same_state(again, model)
    assert_same_predictions(again.predict(data[0]), model.predict(data[0]))


def test_a_failed_fit_leaves_no_half_learned_model(name, data):
    X, Y = data
    broken = made(name)
    with pytest.raises(DataError, match="X has 150 rows and y has 149"):
        broken.fit(X, Y[:-1])
    with pytest.raises(NotFittedError):
        broken.predict(X)


# --- predict


def test_predict_changes_neither_model_nor_data(model, data):
    X = data[0].copy()
    before = {key: copy.deepcopy(value) for key, value in flat(model.to_state()).items()}
    first = model.predict(X)
    model.predict(X, top_k=11)
    assert_same_predictions(model.predict(X), first)
    np.testing.assert_equal(flat(model.to_state()), before)
    np.testing.assert_array_equal(X.data, data[0].data)


def test_the_order_of_rows_does_not_matter(model, data):
    X = data[0]
    order = np.random.default_rng(0).permutation(150)
    assert_same_predictions(model.predict(X[order]), model.predict(X)[order])


def test_sparse_matrices_of_both_kinds_and_dense_x_are_alike(model, data):
    X = data[0]
    for other in (sp.csr_matrix(X), X.toarray(), X.toarray().astype(np.float64), X.tocsc()):
        assert_same_predictions(model.predict(other), model.predict(X))


def test_more_labels_than_there_are(model, data):
    found = model.predict(data[0], top_k=10**6)
    assert found.labels.shape == (150, N_LABELS)
    assert_same_predictions(found.top(5), model.predict(data[0], top_k=5))


def test_ties_go_to_the_smaller_label_id(name, data):
    """Labels 2 i and 2 i + 1 have the same instances."""
    X, Y = data
    found = made(name).fit(X, Y[:, np.repeat(np.arange(20), 2)]).predict(X, top_k=40)
    tied = (found.scores[:, 1:] == found.scores[:, :-1]) & (found.labels[:, 1:] >= 0)
    assert tied.sum() > 150
    assert (found.labels[:, 1:] > found.labels[:, :-1])[tied].all()


def test_no_rows_give_no_predictions(model, data):
    assert model.predict(data[0][:0], top_k=3).labels.shape == (0, 3)


def test_other_features_than_in_training_are_refused(model, data):
    with pytest.raises(DataError, match="X has 39 features, but .* is expecting 40 features"):
        model.predict(data[0][:, :39])


# --- kept and used elsewhere


def test_store_round_trip(model, data, tmp_path):
    store.save(model, tmp_path / "model")
    again = store.load(tmp_path / "model", verify=True)
    assert type(again) is type(model)
    assert_same_state(again, model)
    assert_same_predictions(again.predict(data[0], top_k=10), model.predict(data[0], top_k=10))


def test_a_loaded_model_can_be_saved_again(model, tmp_path):
    store.save(model, tmp_path / "model")
    again = store.load(tmp_path / "model")
    store.save(again, tmp_path / "copy")
    assert_same_state(store.load(tmp_path / "copy"), model)


@pytest.mark.parametrize("how", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_predict_the_same(model, data, how):
    assert_same_predictions(how(model).predict(data[0]), model.predict(data[0]))


def test_clone_keeps_settings_and_forgets_what_was_learned(name, data):
    model = made(name, random_state=5, solver=SolverConfig(cost=2.0)).fit(*data)
    twin = clone(model)
    before, after = model.get_params(), twin.get_params()
    assert before.keys() == after.keys()
    plain = [key for key in before if not hasattr(before[key], "fit")]  # a wrapped one is cloned
    assert {key: before[key] for key in plain} == {key: after[key] for key in plain}
    with pytest.raises(NotFittedError):
        twin.predict(data[0])
    assert_same_state(twin.fit(*data), model)


WORDS = ["cat", "dog", "horse", "owl", "barn", "house", "wood", "lake"]
TEXTS = [f"{who} {where} {i}" for i in range(4) for who in WORDS[:4] for where in WORDS[4:]]
TEXT_LABELS = sp.csr_array([[float(word in text) for word in WORDS] for text in TEXTS])


def text_pipeline(name: str) -> Any:
    """Features and a model, with leaves of two labels if it has leaves."""
    return make_pipeline(TfidfFeatures(), made(name, max_leaf_size=2, branching=2))


def test_behind_features_in_a_pipeline(name):
    pipeline = text_pipeline(name).fit(TEXTS, TEXT_LABELS)
    found = pipeline.predict(["an owl in the wood"], top_k=2)
    assert sorted(found.labels[0].tolist()) == [3, 6]
    assert pipeline.score(TEXTS, TEXT_LABELS) == 1


def test_in_a_grid_search_with_its_own_score(name):
    pipeline = text_pipeline(name)
    cost = setting_name(pipeline[-1], "cost")
    step = pipeline.steps[-1][0]
    grid = {} if cost is None else {f"{step}__{cost}": [1e-6, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(TEXTS, TEXT_LABELS)
    assert search.best_params_ == dict.fromkeys(grid, 1.0)
    assert search.best_score_ > 0.9


def test_in_cross_validation_with_dense_labels(name):
    found = cross_validate(
        text_pipeline(name), TEXTS, TEXT_LABELS.toarray(), cv=2, error_score="raise"
    )
    assert found["test_score"].min() > 0.9


def test_labels_in_any_form_give_the_same_model(name, model, data):
    X, Y = data
    for y in (Y.tocsc(), sp.coo_matrix(Y), Y.toarray(), Y.toarray().astype(int).tolist()):
        assert_same_state(made(name).fit(X=X, y=y), model)


def test_the_wrapped_model_stays_unfitted(data):
    inner = made("XRLinear")
    wrapper = Disentangled(inner).fit(*data)
    assert wrapper.model is inner
    assert isinstance(inner, XRLinear)
    assert not hasattr(inner, "tree_")


def test_names_of_columns_are_kept_and_compared(name, data):
    pa = pytest.importorskip("pyarrow")
    X, Y = data
    columns = {f"word{i}": column for i, column in enumerate(X.toarray().T)}
    table = pa.table(columns)
    model = made(name).fit(table, Y)
    assert model.feature_names_in_.tolist() == list(columns)
    assert_same_predictions(model.predict(table), model.predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table.rename_columns([f"other{i}" for i in range(len(columns))]))
