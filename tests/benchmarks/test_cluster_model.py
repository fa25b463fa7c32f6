import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.cluster_model import Overheads, Round, grown, played, simulate
from multitudes.engine.ray_engine import shrinking_parts


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=30), st.integers(1, 8))
def test_work_ends_no_sooner_than_it_can_and_no_later_than_in_turn(lengths, cores):
    longest_first = sorted(lengths, reverse=True)
    ended, n_orders = played(Round("rankers", longest_first, longest_first), cores, 0.0)
    parts = shrinking_parts(longest_first, cores)
    longest = max(sum(longest_first[i] for i in part) for part in parts)
    assert n_orders == len(parts)
    assert max(max(lengths), sum(lengths) / cores) <= ended + 1e-9
    assert ended <= sum(lengths) / cores + longest + 1e-9


def test_pieces_wait_for_those_above_them():
    tree = Round("tree", [3.0, 2.0, 1.0, 4.0], [4.0, 2.0, 2.0, 2.0], [None, 0, 0, 2])
    assert played(tree, 1, 0.0) == (10.0, 4)
    assert played(tree, 2, 0.0) == (8.0, 4)  # 3, then 2 beside 1 and 4


def test_a_training_by_hand():
    work = [Round("counts", [4.0, 4.0], [1.0, 1.0], before=1.0), Round("rankers", [6.0], [1.0])]
    free = Overheads(start=0.0, order=0.0, end=2.0)
    assert simulate(work, free, 1) == 1 + 8 + 6 + 2
    assert simulate(work, free, 2) == 1 + 4 + 6 + 2
    assert simulate(work, free, 2, physical=1) == 1 + 8 + 6 + 2
    larger = grown([*work, Round("tree", [1.0], [1.0], [None])], 16)
    assert sum(larger[0].seconds) == 8 * 16
    assert sum(larger[1].seconds) == pytest.approx(6 * 16 * (1 + 1 / 5))  # a level more
