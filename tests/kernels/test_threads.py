"""How many threads, and what a team does with work."""

import pickle
import threading

import pytest

from multitudes.errors import ConfigError
from multitudes.kernels.threads import BufferPool, ThreadTeam, available_cores, resolve_threads


def test_none_is_every_core():
    assert resolve_threads(None) == available_cores() >= 1
    assert resolve_threads(3) == 3


@pytest.mark.parametrize("bad", [0, -2, 1.5, "2", True])
def test_a_bad_number_is_named(bad):
    with pytest.raises(ConfigError, match=r"n_jobs must be an int >= 1.*got"):
        resolve_threads(bad)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_results_come_in_order(n_threads):
    with ThreadTeam(n_threads) as team:
        assert team.map(lambda i: i * i, range(50)) == [i * i for i in range(50)]
        assert team.map(lambda i: i, []) == []


def test_a_team_of_one_stays_in_the_callers_thread():
    with ThreadTeam(1) as team:
        assert team.map(lambda _: threading.get_ident(), [0, 1]) == [threading.get_ident()] * 2


def test_a_team_of_two_works_at_the_same_time():
    barrier = threading.Barrier(2, timeout=30)
    with ThreadTeam(2) as team:
        assert sorted(team.map(lambda _: barrier.wait(), range(2))) == [0, 1]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_error_reaches_the_caller(n_threads):
    with ThreadTeam(n_threads) as team, pytest.raises(ZeroDivisionError):
        team.map(lambda i: 1 // i, [1, 0, 2])


def test_a_pool_lends_again_what_was_given_back():
    pool = BufferPool()
    with pool.lend("a", object) as first, pool.lend("a", object) as second:
        assert first is not second
    with pool.lend("a", object) as again, pool.lend("b", object) as other:
        assert again in (first, second)
        assert other not in (first, second)


def test_a_pool_takes_back_after_an_error():
    pool = BufferPool()
    with pytest.raises(KeyError), pool.lend("a", object) as first:
        raise KeyError
    with pool.lend("a", object) as again:
        assert again is first


def test_a_copied_pool_is_empty():
    pool = BufferPool()
    with pool.lend("a", object) as first:
        pass
    with pickle.loads(pickle.dumps(pool)).lend("a", object) as other:
        assert other is not first
