from hypothesis import given
from hypothesis import strategies as st

from multitudes.deep.training.batches import Batches, steps_per_epoch, windows

counts = st.integers(1, 20)


def numbered(n):
    """An epoch whose batches are their own numbers."""
    return Batches(lambda epoch, start: iter(range(start, n)), n, n)


@given(n=counts, size=st.integers(1, 5), n_processes=st.integers(1, 4))
def test_every_batch_goes_to_one_process_and_one_window(n, size, n_processes):
    dealt = [
        list(windows(numbered(n), 0, 0, size=size, process=i, n_processes=n_processes))
        for i in range(n_processes)
    ]
    n_turns = n // n_processes
    assert sorted(b for own in dealt for window in own for b in window) == list(
        range(n_turns * n_processes)
    )
    for own in dealt:
        assert len(own) == steps_per_epoch(numbered(n), size=size, n_processes=n_processes)
        assert all(len(window) == size for window in own[:-1])


@given(n=counts, size=st.integers(1, 5), n_processes=st.integers(1, 4), data=st.data())
def test_starting_after_some_windows_gives_the_others(n, size, n_processes, data):
    def run(start):
        return list(windows(numbered(n), 0, start, size=size, process=0, n_processes=n_processes))

    whole = run(0)
    done = data.draw(st.integers(0, len(whole)))
    n_done = sum(len(window) for window in whole[:done])
    assert run(n_done * n_processes) == whole[done:]


def test_an_iterator_of_any_kind_will_do():
    batches = Batches(lambda epoch, start: map(str, range(start, 3)), 3, 3)
    assert list(windows(batches, 0, 1, size=2)) == [["1", "2"]]
