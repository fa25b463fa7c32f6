from hypothesis import given
from hypothesis import strategies as st

from multitudes.deep.training.batches import Batches, steps_per_epoch, windows

counts = st.integers(1, 20)


def numbered(n):
    """An epoch whose batches are their own numbers."""
    return Batches(lambda epoch, start: iter(range(start, n)), n, n)


@given(n=counts, size=st.integers(1, 5))
def test_every_batch_is_in_one_window(n, size):
    found = list(windows(numbered(n), 0, 0, size=size))
    assert [batch for window in found for batch in window] == list(range(n))
    assert len(found) == steps_per_epoch(numbered(n), size=size)
    assert all(len(window) == size for window in found[:-1])


@given(n=counts, size=st.integers(1, 5), data=st.data())
def test_starting_after_some_windows_gives_the_others(n, size, data):
    whole = list(windows(numbered(n), 0, 0, size=size))
    done = data.draw(st.integers(0, len(whole)))
    n_done = sum(len(window) for window in whole[:done])
    assert list(windows(numbered(n), 0, n_done, size=size)) == whole[done:]


def test_an_iterator_of_any_kind_will_do():
    batches = Batches(lambda epoch, start: map(str, range(start, 3)), 3, 3)
    assert list(windows(batches, 0, 1, size=2)) == [["1", "2"]]
