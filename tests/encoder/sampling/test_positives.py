import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("torch")

from multitudes.encoder.sampling.positives import PositiveDrawer, positive_weights
from multitudes.errors import ConfigError
from multitudes.metrics import inverse_propensity
from tests.encoder.sampling.problems import random_labels


def test_weights_are_inverse_propensities_or_all_alike():
    Y = random_labels()
    np.testing.assert_allclose(
        positive_weights(Y, "inverse-propensity", propensity="amazon"),
        inverse_propensity(Y, a=0.6, b=2.6),
        rtol=1e-6,
    )
    assert set(positive_weights(Y, "uniform")) == {1.0}


def test_an_unknown_data_set_names_the_known_ones():
    with pytest.raises(ConfigError, match="amazon"):
        positive_weights(random_labels(), "inverse-propensity", propensity="amazn")


def test_labels_are_drawn_in_proportion_to_their_weights():
    Y = sp.csr_array(np.ones((1, 4), np.float32))
    weights = np.array([1, 2, 3, 4], np.float32)
    drawer = PositiveDrawer(Y, weights)
    drawn = drawer.draw(np.zeros(40_000, np.int64), 2, np.random.default_rng(0))
    first = np.bincount(drawn[:, 0], minlength=4) / len(drawn)
    np.testing.assert_allclose(first, weights / 10, atol=0.01)
    # Given that label 3 came first, the second is drawn by weight among the others.
    second = np.bincount(drawn[drawn[:, 0] == 3, 1], minlength=4) / (drawn[:, 0] == 3).sum()
    np.testing.assert_allclose(second, [1 / 6, 2 / 6, 3 / 6, 0], atol=0.015)


def test_draws_have_no_repeats_and_are_labels_of_their_instance():
    Y = random_labels(density=0.3)
    drawer = PositiveDrawer(Y, np.ones(Y.shape[1], np.float32))
    instances = np.arange(Y.shape[0])
    drawn = drawer.draw(instances, 5, np.random.default_rng(1))
    for i in instances:
        own = [label for label in drawn[i] if label >= 0]
        assert len(set(own)) == len(own) == min(5, Y.indptr[i + 1] - Y.indptr[i])
        assert set(own) <= set(Y.indices[Y.indptr[i] : Y.indptr[i + 1]])
