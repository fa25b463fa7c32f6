"""A cache of rows: every step finds what the step before left, however far ahead rows come."""

import threading

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from multitudes.encoder.prototypes.row_cache import RowCache

N_ROWS, CAPACITY, DIM = 30, 20, 3


def cache(n_rows=N_ROWS, capacity=CAPACITY):
    host = {
        "vectors": torch.arange(n_rows * DIM, dtype=torch.float32).view(n_rows, DIM),
        "present": torch.arange(n_rows) % 2 == 0,
    }
    resident = {
        "vectors": torch.full((capacity, DIM), torch.nan),
        "present": torch.zeros(capacity, dtype=torch.bool),
    }
    return RowCache(host, resident)


batches = st.lists(st.sets(st.integers(0, N_ROWS - 1), min_size=1, max_size=5), max_size=12)


@given(batches=batches, ahead=st.integers(1, 3), settled=st.integers(0, 12))
@settings(deadline=None, max_examples=60)
def test_rows_are_changed_in_order(batches, ahead, settled):
    """`ahead` batches are loaded before one is used: four of five rows fill all of the room."""
    rows = cache()
    expected = rows.host["vectors"].clone()
    loaded = []
    for number in range(len(batches) + ahead):
        if number < len(batches):
            loaded.append(rows.load(np.array(sorted(batches[number]), np.int64)))
        step = number - ahead
        if step < 0:
            continue
        rows.insert(loaded[step])
        slots, own = torch.from_numpy(loaded[step].slots), sorted(batches[step])
        torch.testing.assert_close(rows.resident["vectors"][slots], expected[own])
        changed = expected[own] * 0.5 + step
        expected[own] = changed
        rows.resident["vectors"][slots] = changed
        if step == settled:  # a checkpoint in the middle
            rows.settle()
            torch.testing.assert_close(rows.host["vectors"], expected)
        rows.release(loaded[step])
    rows.reset()
    torch.testing.assert_close(rows.host["vectors"], expected)
    assert rows.host["present"].tolist() == [i % 2 == 0 for i in range(N_ROWS)]


def test_a_batch_waits_until_there_is_room():
    rows = cache(capacity=4)
    first = rows.load(np.arange(3))
    rows.insert(first)
    found = []
    thread = threading.Thread(target=lambda: found.append(rows.load(np.arange(10, 13))))
    thread.start()
    thread.join(0.05)
    assert not found
    rows.release(first)
    thread.join(10)
    assert len(found) == 1


def test_what_was_forgotten_is_read_again():
    rows = cache()
    some = rows.load(np.array([1, 2]))
    rows.insert(some)
    rows.resident["vectors"][:] = 0
    rows.forget()
    again = rows.load(np.array([1, 2]))
    rows.insert(again)
    slots = torch.from_numpy(again.slots)
    torch.testing.assert_close(rows.resident["vectors"][slots], rows.host["vectors"][1:3])
    assert rows.host["vectors"][1].any()


def test_an_error_while_writing_back_is_raised_to_who_trains():
    rows = cache(capacity=4)
    first = rows.load(np.arange(4))
    rows.insert(first)
    rows.host["vectors"] = rows.host["vectors"][:, :2]  # no longer as wide
    rows.release(first)
    with pytest.raises(RuntimeError):
        rows.load(np.arange(10, 14))  # waits for room that never comes
