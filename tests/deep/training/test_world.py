"""Parts of a batch: all rows, in order, the same number for everyone."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from multitudes.deep.training import ALONE, World


@given(n=st.integers(1, 40), size=st.integers(1, 6))
def test_parts_one_after_the_other_begin_with_all_rows(n, size):
    parts = [World(rank, size).own(n) for rank in range(size)]
    assert {len(part) for part in parts} == {World(0, size).share(n)}
    together = np.concatenate(parts)
    np.testing.assert_array_equal(together[:n], np.arange(n))
    assert (together[n:] == n - 1).all()


def test_a_process_alone_has_it_all():
    rows = torch.randn(3, 2)
    assert World.join(torch.device("cpu")) == ALONE
    assert ALONE.own_rows(rows) is rows
    assert ALONE.gathered(rows, 3) is rows
    assert ALONE.mean(rows) is rows
