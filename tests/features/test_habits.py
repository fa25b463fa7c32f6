"""What scikit-learn expects of every transformer: parameters, clones, and refusing before fit."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from multitudes.errors import ConfigError, NotFittedError
from multitudes.features import (
    ConcatFeatures,
    DenseFeatures,
    HashingFeatures,
    PassThrough,
    TfidfFeatures,
)

TEXTS = ["red fish", "blue fish", "red bird", ""]
ROWS = np.eye(4, dtype=np.float32)
CASES = {
    "tfidf": (TfidfFeatures(min_df=1, n_jobs=1), TEXTS),
    "hashing": (HashingFeatures(n_features=64), TEXTS),
    "dense": (DenseFeatures(normalize=False), ROWS),
    "pass-through": (PassThrough(normalize=True), ROWS),
    "concat": (ConcatFeatures([TfidfFeatures(), HashingFeatures(n_features=8)]), TEXTS),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def test_parameters_come_back_and_are_keyword_only(case):
    features, _ = case
    given = features.get_params(deep=False)
    again = type(features)(**given)
    assert again.get_params(deep=False) == given
    parameters = inspect.signature(type(features)).parameters
    positional = [p.name for p in parameters.values() if p.kind is not p.KEYWORD_ONLY]
    assert positional in ([], ["blocks"])


def test_a_clone_is_unfitted_and_learns_the_same(case):
    features, data = case
    X = clone(features).fit(data, None).transform(data)
    copy = clone(features)
    assert (copy.fit_transform(data) != X).nnz == 0
    check_is_fitted(copy)
    assert (make_pipeline(clone(features)).fit_transform(data) != X).nnz == 0


@pytest.mark.parametrize("name", [name for name in CASES if name != "hashing"])
def test_nothing_works_before_fit(name):
    features, data = CASES[name]
    for call in (lambda f: f.transform(data), lambda f: f.to_state()):
        with pytest.raises(NotFittedError, match="call fit first"):
            call(clone(features))


@pytest.mark.parametrize("kind", [TfidfFeatures, HashingFeatures])
def test_all_cores_are_none_or_minus_one(kind):
    X = kind(n_jobs=1).fit_transform(TEXTS)
    for n_jobs in (None, -1):
        assert (kind(n_jobs=n_jobs).fit_transform(TEXTS) != X).nnz == 0
    for n_jobs in (0, -2, 1.5, True):
        with pytest.raises(ConfigError, match="n_jobs must be"):
            kind(n_jobs=n_jobs).fit(TEXTS)
