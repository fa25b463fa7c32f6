import json

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.errors import DataError
from multitudes.groups.diagnosis import diagnose

X = sp.csr_array(np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32))
# Groups of 1, 2 and 3 instances.
GROUPS = sp.csr_array([[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1]])
# Label 0: in a group of one; label 1: twice in a group of two; label 2: once in that group and
# once in the group of three; label 3: in the group of three alone.
LABELS = sp.csr_array([[1, 0, 0, 0], [0, 2, 1, 0], [0, 0, 1, 1]])


def test_what_is_certain_and_what_no_second_group_tells():
    found = diagnose(X, GROUPS, LABELS)
    assert found.certain == 2 / 5
    assert found.single == 1
    assert found.counts.listed == 5


def test_for_people_and_for_programs():
    apart = X.toarray() + GROUPS.toarray() @ [[0.0], [5.0], [9.0]]
    found = diagnose(apart, GROUPS, LABELS)
    text = str(found)
    assert "3 groups of 2.0 instances" in text
    assert "labels whose instances are certain: 40.0% of 5" in text
    assert "labels that one group alone lists: 1 of 4" in text
    assert f"up to {found.spread.price:.2f} times the error" in text
    numbers = json.loads(json.dumps(found.to_dict()))
    spread = found.spread
    assert numbers == vars(found.counts) | {
        "mean_size": 2,
        "certain": 2 / 5,
        "single": 1,
        "as_sets": False,
        "sigma_1": spread.sigma_1,
        "sigma_2": spread.sigma_2,
        "ratio": spread.sigma_2 / spread.sigma_1,
        "share_within": spread.share,
        "price": spread.price,
    }
    assert numbers["groups"] == 3


def test_groups_of_one_have_no_spread():
    groups = sp.eye_array(6, format="csr")
    found = diagnose(X, groups, sp.csr_array(np.ones((6, 2))))
    assert found.spread is None
    assert found.certain == 1
    assert "spread" not in str(found)
    assert "price" not in found.to_dict()


def test_an_infinite_ratio_is_said_and_is_none_in_json():
    opposites = np.tile([[1.0], [-1.0]], (3, 1))
    groups = sp.csr_array(np.kron(np.eye(3), np.ones((2, 1))))
    found = diagnose(opposites, groups, sp.csr_array(np.ones((3, 1))))
    assert np.isinf(found.spread.ratio)
    assert "= infinite" in str(found)
    assert found.to_dict()["ratio"] is None


def test_bad_features():
    with pytest.raises(DataError, match="X has 5 rows"):
        diagnose(X[:5], GROUPS, LABELS)


def test_large_groups_with_sets_are_warned_of():
    """Groups of 10 and 12; a label that one of them lists twice makes lists of them."""
    X = sp.csr_array(np.random.default_rng(0).normal(size=(22, 4)).astype(np.float32))
    groups = sp.csr_array(np.repeat(np.eye(2), [10, 12], axis=0))
    sets = diagnose(X, groups, sp.csr_array([[1, 1], [0, 1]]))
    assert sets.as_sets
    assert sets.to_dict()["as_sets"]
    assert "If you know it, list a label once for each instance" in str(sets)
    lists = diagnose(X, groups, sp.csr_array([[1, 2], [0, 1]]))
    assert "listed once each" not in str(lists)
    nothing = diagnose(X, groups, sp.csr_array((2, 2)))
    small = diagnose(X[:6], GROUPS, sp.csr_array(LABELS != 0))
    assert not any(found.as_sets for found in (lists, nothing, small))
