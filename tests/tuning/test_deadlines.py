"""Deadlines where no alarm of the system can be had: in other threads, beside another alarm."""

from __future__ import annotations

import threading
import time

import pytest

from multitudes import ConfigError
from multitudes.tagger.auto.deadline import Deadline, TimeIsUp, _sent, seconds_of


def spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.002)


def test_work_is_stopped_in_any_thread():
    ends: list[float] = []

    def work() -> None:
        started = time.monotonic()
        try:
            with Deadline(0.05).enforced():
                spin(20)
        except TimeIsUp:
            ends.append(time.monotonic() - started)

    work()
    other = threading.Thread(target=work)
    other.start()
    other.join()
    assert len(ends) == 2
    assert max(ends) < 5


def test_work_that_is_done_is_left_alone():
    for _ in range(20):
        with _sent(0.01):
            pass
    spin(0.05)  # nothing comes late


@pytest.mark.parametrize("budget", [1e300, "9" * 400, "400d"])
def test_no_budget_is_longer_than_a_clock(budget):
    with pytest.raises(ConfigError, match="a budget is a time"):
        seconds_of(budget)
