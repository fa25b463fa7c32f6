"""What every model promises: over features, groups and texts, linear and deep."""

from __future__ import annotations

import copy
import inspect
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from multitudes import store, types
from multitudes.config import Config
from multitudes.errors import ConfigError, DataError, NotFittedError
from multitudes.estimator import Estimator
from multitudes.models import built_in_models
from multitudes.types import Model, Predictions

from .cases import CASES, Case, models_of, public_models

pytest.importorskip("torch")
pytest.importorskip("transformers")

WRAPPED = ("model", "members")  # parameters that a model cannot be made without
PROTOCOLS = {
    name: one
    for name, one in vars(types).items()
    if getattr(one, "_is_runtime_protocol", False) and one is not Model
}


def assert_alike(left: Predictions, right: Predictions, tolerance: float) -> None:
    np.testing.assert_array_equal(left.labels, right.labels)
    np.testing.assert_allclose(left.scores, right.scores, rtol=tolerance, atol=tolerance)


def rows(X: Any, chosen: list[int]) -> Any:
    return [X[row] for row in chosen] if isinstance(X, list) else X[chosen]


@pytest.fixture(scope="module", params=sorted(CASES))
def name(request):
    return request.param


@pytest.fixture(scope="module")
def case(name) -> Case:
    return CASES[name]


@pytest.fixture(scope="module")
def model(case):
    """Fitted once for all tests of the module, which leave it as it is."""
    return case.fit(case.make(), *case.data())


def test_there_is_a_case_for_every_public_model():
    missing = set(public_models()) - set(CASES)
    assert not missing, "add a Case to tests/contract/cases.py"
    assert set(CASES) == set(public_models())


def test_every_model_with_a_name_is_among_the_public_ones():
    declared = {type(spec.make_model()) for spec in built_in_models().values()}
    assert declared <= set(public_models().values())


def test_a_model_of_a_new_package_is_found():
    new = type("Newcomer", (), {"fit": None, "predict": None})
    module = SimpleNamespace(__all__=["Newcomer", "N"], Newcomer=new, N=3, Hidden=new)
    assert models_of(module) == {"Newcomer": new}
    assert models_of(SimpleNamespace()) == {}


# --- settings


def test_a_model_is_an_estimator_of_ours(name, case):
    assert isinstance(case.make(), Estimator)
    assert isinstance(case.make(), Model)
    assert type(case.make()) is public_models()[name]


def test_parameters_are_keyword_only_and_configs_have_defaults(case):
    parameters = inspect.signature(type(case.make())).parameters.values()
    for parameter in parameters:
        assert parameter.kind is parameter.KEYWORD_ONLY or parameter.name in WRAPPED
        if parameter.name not in WRAPPED:
            assert parameter.default is not parameter.empty
        if "Config" in str(parameter.annotation) or "Training" in str(parameter.annotation):
            assert isinstance(parameter.default, Config)


def test_fields_of_configs_are_parameters(case):
    model = case.make()
    deep = model.get_params()
    for name, value in model.get_params(deep=False).items():
        if isinstance(value, Config):
            for field, setting in value.get_params().items():
                assert deep[f"{name}__{field}"] == setting
                assert model.set_params(**{f"{name}__{field}": setting}) is model
            assert getattr(model, name) == value
    with pytest.raises(ConfigError, match="has no parameter 'no_such_setting'"):
        model.set_params(no_such_setting=1)


def test_set_params_is_the_constructor(case):
    for key, value in case.make().get_params(deep=False).items():
        model = case.make()
        assert model.set_params(**{key: value}) is model
        assert model.get_params(deep=False)[key] is value


# --- fit


def test_fit_returns_self_and_leaves_settings_and_data_alone(case):
    X, Y = case.data()
    given_X, given_Y = copy.deepcopy(X), Y.copy()
    model = case.make()
    before = model.get_params()
    assert case.fit(model, given_X, given_Y) is model
    assert model.get_params() == before
    learned = {key for key in vars(model) if key not in before}
    assert all(key.endswith("_") or key.startswith("_") for key in learned)
    for given, kept in ((given_X, X), (given_Y, Y)):
        if sp.issparse(given):
            for part in ("data", "indices", "indptr"):
                np.testing.assert_array_equal(getattr(given, part), getattr(kept, part))
        else:
            assert given == kept


def test_the_same_random_state_gives_the_same_model_and_a_clone_starts_anew(case, model):
    X, Y = case.data()
    twin = clone(model)
    assert twin.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    with pytest.raises(NotFittedError):
        twin.predict(X)
    assert_alike(case.fit(twin, X, Y).predict(X), model.predict(X), case.tolerance)


def test_a_failed_fit_leaves_no_half_learned_model(case):
    X, Y = case.data()
    broken = case.make()
    with pytest.raises(DataError):
        case.fit(broken, X, Y[:-1])
    with pytest.raises(NotFittedError):
        broken.predict(X)


def test_an_unfitted_model_says_so(name, case):
    model = case.make()
    for ask in (lambda: model.predict(case.data()[0]), model.to_state):
        with pytest.raises(NotFittedError, match=f"this {name} .*: call fit") as caught:
            ask()
        assert isinstance(caught.value, SklearnNotFittedError)
    with pytest.raises(SklearnNotFittedError):
        check_is_fitted(model)


def test_a_fitted_model_is_fitted(model):
    check_is_fitted(model)


# --- predict


def test_predictions_are_in_order_and_in_range_and_ties_go_to_the_smaller_id(case, model):
    X, Y = case.data()
    found = model.predict(X, top_k=4)
    assert isinstance(found, Predictions)
    assert found.labels.shape == found.scores.shape == (Y.shape[0], 4)
    assert (found.labels.dtype, found.scores.dtype) == (np.int32, np.float32)
    assert found.n_labels == model.n_labels_ == Y.shape[1]
    assert found.labels.max() < Y.shape[1]
    np.testing.assert_array_equal(found.labels < 0, np.isneginf(found.scores))
    assert (found.scores[:, 1:] <= found.scores[:, :-1]).all()
    tied = (found.scores[:, 1:] == found.scores[:, :-1]) & (found.labels[:, 1:] >= 0)
    assert (found.labels[:, 1:] > found.labels[:, :-1])[tied].all()
    for row in found.labels:
        listed = row[row >= 0]
        assert len(set(listed.tolist())) == len(listed)


def test_predict_changes_neither_model_nor_data(case, model):
    X = case.data()[0]
    given, before = copy.deepcopy(X), model.get_params()
    first = model.predict(given)
    model.predict(given, top_k=3)
    assert_alike(model.predict(given), first, 0)
    assert model.get_params() == before
    same = given == X if isinstance(X, list) else (given != X).nnz == 0
    assert same


def test_a_batch_is_its_single_rows(case, model):
    X = case.data()[0]
    batch = model.predict(X)
    for row in range(0, len(batch), 13):
        assert_alike(model.predict(rows(X, [row])), batch[[row]], case.tolerance)


def test_top_k_is_checked(case, model):
    for top_k in (0, -1, 2.5, "5", None):
        with pytest.raises(ConfigError, match="top_k must be a whole number >= 1, got"):
            model.predict(case.data()[0], top_k=top_k)


def test_score_is_precision_at_one_of_labels_in_any_form(case, model):
    X, Y = case.data()
    best = model.predict(X, top_k=1).labels[:, 0]
    expected = pytest.approx(Y.toarray()[np.arange(len(best)), best].mean())
    for y in (Y, Y.tocsc(), sp.csr_matrix(Y), Y.toarray(), Y.toarray().astype(int).tolist()):
        assert model.score(X=X, y=y) == expected


def test_store_round_trip(case, model, tmp_path):
    store.save(model, tmp_path / "model")
    again = store.load(tmp_path / "model", verify=True)
    assert type(again) is type(model)
    X = case.data()[0]
    assert_alike(again.predict(X, top_k=4), model.predict(X, top_k=4), case.tolerance)
    store.save(again, tmp_path / "copy")
    copied = store.load(tmp_path / "copy")
    assert_alike(copied.predict(X), model.predict(X), case.tolerance)


# --- what it can do


def test_a_model_meets_the_protocols_that_it_claims_and_no_other(case, model):
    met = {name for name, protocol in PROTOCOLS.items() if isinstance(model, protocol)}
    assert met == case.can & set(PROTOCOLS)


def test_tags_say_whether_it_reads_texts(case, model):
    reads_texts = "ReadsTexts" in case.can
    assert getattr(model, "reads_texts", False) == reads_texts
    tags = get_tags(model)
    assert tags.input_tags.string == reads_texts
    assert tags.input_tags.two_d_array == tags.input_tags.sparse == (not reads_texts)
    assert tags.target_tags.required


def test_what_it_claims_works(case, model):
    X, Y = case.data()
    one = rows(X, [0])
    model = copy.deepcopy(model)
    if "Explains" in case.can:
        assert model.explain(one[0] if isinstance(X, list) else one, 1).label == 1
    if "ScoresPairs" in case.can:
        assert model.score_pairs(X, Y).nnz == Y.nnz
    if "MakesSets" in case.can:
        assert isinstance(model.predict_sets(one), Predictions)
    if "PartitionModel" in case.can:
        assert all(hasattr(tree, "fit_matcher") for tree in model.partitions())
    if "MovesToDevice" in case.can:
        assert model.to("cpu") is model
    if "RestrictsLabels" in case.can:
        assert set(model.predict(X, top_k=3, labels=[1, 2]).labels.ravel().tolist()) <= {1, 2, -1}
    if "Updates" in case.can:
        assert model.partial_fit(X=X, y=Y.toarray()) is model
    if "RemovesLabels" in case.can:
        n_labels = model.n_labels_
        assert model.remove_labels([0]) is model
        assert model.n_labels_ == n_labels - 1
