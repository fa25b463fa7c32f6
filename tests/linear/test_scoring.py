"""Names of scoring rules, and what they do with margins."""

import math

import numpy as np
import pytest

from multitudes.errors import ConfigError
from multitudes.kernels.search.beam_search import HINGE, RAW, SIGMOID
from multitudes.linear.scoring import Scoring, scoring

EXAMPLES = {
    "l1-hinge": lambda v: math.exp(-max(0, 1 - v)),
    "l2-hinge": lambda v: math.exp(-(max(0, 1 - v) ** 2)),
    "l3-hinge": lambda v: math.exp(-(max(0, 1 - v) ** 3)),
    "l9-hinge": lambda v: math.exp(-(max(0, 1 - v) ** 9)),
    "log-l2-hinge": lambda v: -(max(0, 1 - v) ** 2),
    "sigmoid": lambda v: 1 / (1 + math.exp(-v)),
    "log-sigmoid": lambda v: math.log(1 / (1 + math.exp(-v))),
    "raw": lambda v: v,
}


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("margin", [-3.0, -0.5, 0.0, 0.9, 1.0, 5.0])
def test_the_score_of_one_margin(name, margin):
    assert scoring(name).of_margin(np.float64(margin)) == pytest.approx(EXAMPLES[name](margin))


def test_names_become_rules():
    assert scoring("l3-hinge") == Scoring(HINGE, 3, True)
    assert scoring("log-l3-hinge") == Scoring(HINGE, 3, False)
    assert scoring("sigmoid") == Scoring(SIGMOID, 1, True)
    assert scoring("log-sigmoid") == Scoring(SIGMOID, 1, False)
    assert scoring("raw") == Scoring(RAW, 1, False)


@pytest.mark.parametrize(
    "name", ["hinge", "l0-hinge", "l10-hinge", "L3-hinge", "", None, 3, ["raw"]]
)
def test_other_names_are_refused_with_those_allowed(name):
    with pytest.raises(
        ConfigError, match="score_function must be 'l3-hinge'.*'sigmoid'.*'raw', got"
    ):
        scoring(name)


def test_sums_of_logarithms_become_products():
    logs = np.log(np.array([[0.5, 0.25]], np.float32))
    np.testing.assert_allclose(scoring("l3-hinge").finish(logs), [[0.5, 0.25]], rtol=1e-6)
    np.testing.assert_array_equal(scoring("log-sigmoid").finish(logs), logs)
