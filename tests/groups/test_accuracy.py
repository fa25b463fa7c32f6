import math
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.data.groups import merge_labels, random_groups
from multitudes.errors import DataError
from multitudes.groups.accuracy import imputation_accuracy

IMPUTED = sp.csr_array([[1, 1, 0], [0, 0, 1], [1, 0, 0]])
TRUTH = sp.csr_array([[1, 0, 1], [0, 0, 1], [0, 0, 0]])


def test_known_instances_count_and_others_do_not():
    result = imputation_accuracy(IMPUTED, TRUTH)
    assert (result.precision, result.recall) == (2 / 3, 2 / 3)
    assert (result.n_instances, result.n_assigned, result.n_known) == (2, 3, 3)


def test_an_instance_may_be_known_to_have_no_label():
    result = imputation_accuracy(IMPUTED, TRUTH, known=[True, False, True])
    assert (result.precision, result.recall) == (1 / 3, 1 / 2)


def test_what_impute_returns_is_taken_as_it_is():
    assert imputation_accuracy(SimpleNamespace(Y=IMPUTED), TRUTH).precision == 2 / 3


def test_soft_labels_count_by_their_weight():
    soft = sp.csr_array([[0.75, 0.25, 0], [0, 0, 1], [0, 0, 0]])
    assert imputation_accuracy(soft, TRUTH).precision == 1.75 / 2


def test_spread_labels_give_the_accuracy_of_chance():
    rng = np.random.default_rng(0)
    Y = sp.random_array((400, 30), density=0.05, rng=rng, format="csr")
    groups = random_groups(400, 4, random_state=0)
    labels = merge_labels(Y, groups, as_counts=False)
    chance = imputation_accuracy(sp.csr_array(groups @ labels), Y, known=np.ones(400, bool))
    assert chance.recall == 1
    assert chance.precision == pytest.approx(Y.nnz / (4 * labels.nnz))


def test_nothing_assigned_has_no_precision():
    result = imputation_accuracy(sp.csr_array((3, 3)), TRUTH)
    assert math.isnan(result.precision)
    assert result.recall == 0


def test_bad_input():
    with pytest.raises(DataError, match="one shape"):
        imputation_accuracy(IMPUTED, TRUTH[:2])
    with pytest.raises(DataError, match="nothing to compare with"):
        imputation_accuracy(IMPUTED, sp.csr_array((3, 3)))
    with pytest.raises(DataError, match="a bool for each of the 3 instances"):
        imputation_accuracy(IMPUTED, TRUTH, known=[0, 1])
