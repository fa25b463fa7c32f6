import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.cluster_model import Overheads, Round, grown, makespan, simulate


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=30), st.integers(1, 8))
def test_work_ends_no_sooner_than_it_can_and_no_later_than_in_turn(lengths, cores):
    longest_first = sorted(lengths, reverse=True)
    ended = makespan(longest_first, cores)
    assert max(max(lengths), sum(lengths) / cores) <= ended + 1e-9
    assert ended <= sum(lengths) / cores + max(lengths) + 1e-9


def test_a_training_by_hand():
    work = [Round("counts", [4.0, 4.0], [1.0, 1.0], before=1.0), Round("rankers", [6.0], [1.0])]
    free = Overheads(start=0.0, order=0.0, end=2.0)
    assert simulate(work, free, 1) == 1 + 8 + 6 + 2
    assert simulate(work, free, 2) == 1 + 4 + 6 + 2
    assert simulate(work, free, 2, physical=1) == 1 + 8 + 6 + 2
    larger = grown([*work, Round("tree", [1.0], [1.0])], 16)
    assert sum(larger[0].seconds) == 8 * 16
    assert sum(larger[1].seconds) == pytest.approx(6 * 16 * (1 + 1 / 5))  # a level more
