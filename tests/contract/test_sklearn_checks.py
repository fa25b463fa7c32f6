"""scikit-learn's own list of checks, over every estimator that takes features.

`Eagle` and `DeepMIML` learn from groups and have no ``fit(X, y)``; models and features over texts
are left out by scikit-learn itself, because their tags say so.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from multitudes.config import Config
from multitudes.errors import NotFittedError
from multitudes.features import HashingFeatures, PassThrough, TfidfFeatures
from multitudes.groups import Eagle
from multitudes.linear import XRLinear

from .cases import feature_cases


def with_one_leaf(model: Any) -> Any:
    """The model as it is; without overlap, because the checks have one label and so one leaf."""
    return model.set_params(overlap=1) if hasattr(model, "overlap") else model


MODELS = [with_one_leaf(case.make()) for case in feature_cases().values()]
ESTIMATORS = [*MODELS, PassThrough()]
# Check -> why it fails. One that passes although it is listed here fails the test.
EXPECTED = {
    "check_dtype_object": "arrays of objects are mostly texts: a DataError says where texts go",
    "check_estimators_empty_data_messages": "without features labels are ranked by frequency",
}
OF_DEFAULTS = {
    "check_parameters_default_constructible": "the default of a setting may be a frozen Config",
}
# Of an estimator for which it is not `EXPECTED`.
EXPECTED_OF = {
    "PassThrough": EXPECTED
    | {"check_estimators_empty_data_messages": "columns can be counted without any rows"},
}


def expected_failures(estimator: BaseEstimator) -> dict[str, str]:
    has_config = any(isinstance(v, Config) for v in estimator.get_params(deep=False).values())
    expected = EXPECTED_OF.get(type(estimator).__name__, EXPECTED)
    return expected | OF_DEFAULTS if has_config else expected


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator: BaseEstimator, check: Any) -> None:
    check(estimator)


def test_a_listed_failure_that_passes_is_an_error(pytestconfig):
    assert pytestconfig.getini("xfail_strict")


def test_every_expected_failure_names_a_check():
    for estimator in ESTIMATORS:
        checks = (check for _, check in estimator_checks_generator(estimator))
        names = {getattr(check, "func", check).__name__ for check in checks}
        assert set(expected_failures(estimator)) <= names


@pytest.mark.parametrize("estimator", MODELS, ids=lambda e: type(e).__name__)
def test_tags_of_models_over_features(estimator):
    tags = get_tags(estimator)
    assert tags.input_tags.two_d_array
    assert tags.input_tags.sparse
    assert not tags.input_tags.string
    assert tags.target_tags.required
    assert tags.target_tags.multi_output
    assert not tags.target_tags.single_output
    assert tags.requires_fit


@pytest.mark.parametrize("features", [TfidfFeatures(), HashingFeatures()])
def test_features_of_texts_say_that_they_read_strings(features):
    tags = get_tags(features)
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array


def test_eagle_takes_what_its_model_takes():
    assert get_tags(Eagle(XRLinear())).input_tags == get_tags(XRLinear()).input_tags


def test_our_error_of_an_unfitted_model_is_scikit_learns_too():
    assert issubclass(NotFittedError, SklearnNotFittedError)
    with pytest.raises(SklearnNotFittedError):
        XRLinear().predict([[1.0]])


def test_our_errors_are_light_until_that_one_is_used():
    code = """
import pickle, sys
import multitudes.errors
assert not {"sklearn", "numpy", "scipy"} & set(sys.modules)
assert issubclass(multitudes.errors.NotFittedError, multitudes.errors.MultitudesError)
assert "sklearn" in sys.modules
error = pickle.loads(pickle.dumps(multitudes.errors.NotFittedError("why")))
assert type(error) is multitudes.errors.NotFittedError
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
