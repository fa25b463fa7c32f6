"""The stopwatch of the benchmarks."""

from __future__ import annotations

import pytest

from benchmarks.peers import PeerError
from benchmarks.timing import Contestant, Timing, alternate, cpu_ratio, ratio

ADD = "def run():\n    print('noise')\n    return a + 1\ndef check(x):\n    return x\n"


def test_contestants_run_in_turns_and_agree() -> None:
    timings = alternate(
        {"one": Contestant(ADD, {"a": 1}), "two": Contestant(ADD, {"a": 1})}, rounds=3
    )
    assert {name: t.check for name, t in timings.items()} == {"one": 2, "two": 2}
    assert all(len(t.seconds) == len(t.cpu_seconds) == 3 for t in timings.values())
    assert all(s > 0 for t in timings.values() for s in t.seconds)


def test_a_disagreement_stops_the_benchmark() -> None:
    with pytest.raises(PeerError, match="two computed 3, but one 2"):
        alternate({"one": Contestant(ADD, {"a": 1}), "two": Contestant(ADD, {"a": 2})}, rounds=1)


def test_a_contestant_that_fails_is_named() -> None:
    with pytest.raises(PeerError, match="one stopped"):
        alternate({"one": Contestant(ADD)}, rounds=1)


def test_ratios_are_medians_of_neighboring_rounds() -> None:
    slow = Timing((2.0, 30.0, 4.0), (8.0, 8.0, 8.0), None)
    fast = Timing((1.0, 10.0, 1.0), (1.0, 2.0, 4.0), None)
    assert ratio(slow, fast) == 3.0
    assert cpu_ratio(slow, fast) == 4.0
    assert slow.median == 4.0
