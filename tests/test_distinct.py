"""Distinct values: as numpy has them, whatever the array."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitudes.distinct import distinct


@given(st.lists(st.integers(-(2**40), 2**40)))
def test_values_are_those_of_numpy(values):
    array = np.array(values, np.int64)
    before = array.copy()
    np.testing.assert_array_equal(distinct(array), np.unique(array))
    np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("kind", [np.int32, np.uint32, np.int64, np.float32])
def test_the_type_stays(kind):
    found = distinct(np.array([[3, 1], [1, 2]], kind))
    assert found.dtype == kind
    assert found.tolist() == [1, 2, 3]
