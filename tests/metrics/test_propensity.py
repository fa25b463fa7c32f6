"""Inverse propensities by the formula, their presets and what is refused."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.errors import ConfigError, DataError
from multitudes.metrics import evaluate, inverse_propensity, propensity_preset

Y_TRAIN = [[0], [0, 1], [0], [0, 1], [], [0]]  # label 0 five times, label 1 twice


def test_the_formula_by_hand():
    c = (log(6) - 1) * 2.5**0.55
    expected = [1 + c / (5 + 1.5) ** 0.55, 1 + c / (2 + 1.5) ** 0.55]
    assert inverse_propensity(Y_TRAIN) == pytest.approx(expected)


def test_constants_change_it_and_a_label_never_seen_weighs_most():
    Y = sp.csr_array(np.array([[9, 0, 0], [1, 1, 0], [1, 0, 0], [2, 0, 0]], np.float32))
    c = (log(4) - 1) * 1.4**0.5
    expected = [1 + c / 4.4**0.5, 1 + c / 1.4**0.5, 1 + c / 0.4**0.5]
    found = inverse_propensity(Y, a=0.5, b=0.4)  # counts entries: their values do not matter
    assert found == pytest.approx(expected)
    assert found.argmax() == 2


def test_presets():
    assert propensity_preset("default") == (0.55, 1.5)
    assert propensity_preset("Wikipedia-500K") == (0.5, 0.4)
    assert propensity_preset("WikiLSHTC-325K") == (0.5, 0.4)
    assert propensity_preset("Amazon-670K") == (0.6, 2.6)
    with pytest.raises(ConfigError, match="did you mean 'amazon-670k'"):
        propensity_preset("amazon-680k")


def test_too_few_instances_and_bad_constants_are_refused():
    with pytest.raises(DataError, match="at least 3 training instances, got 2"):
        inverse_propensity([[0], [1]])
    with pytest.raises(ConfigError, match="a must be a number > 0"):
        inverse_propensity(Y_TRAIN, a=0)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 0.0], "label 1 is 0.0"),
        ([np.nan, 1.0], "label 0 is nan"),
        ([[1.0, 2.0]], "shape \\(1, 2\\)"),
        ([1.0, 2.0, 3.0], "label spaces differ"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(DataError, match=message):
        evaluate(sp.csr_array((1, 2)), [[1]], inverse_propensity=weights)
