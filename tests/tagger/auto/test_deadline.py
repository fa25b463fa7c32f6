"""Budgets in words, and the end of what takes longer."""

from __future__ import annotations

import signal
import threading
import time
from datetime import timedelta

import pytest

from multitudes.errors import ConfigError
from multitudes.tagger.auto.deadline import Deadline, TimeIsUp, seconds_of


@pytest.mark.parametrize(
    ("budget", "seconds"),
    [
        ("90s", 90), ("90", 90), ("10m", 600), ("1h30m", 5400), ("1.5h", 5400), (" 2 min ", 120),
        ("1H", 3600), (0.5, 0.5), (7, 7), (timedelta(minutes=2), 120), ("1d", 86400),
    ],
)  # fmt: skip
def test_a_budget_in_seconds(budget, seconds):
    assert seconds_of(budget) == seconds


@pytest.mark.parametrize(
    "budget",
    ["", "soon", "10 parsecs", "-5s", "0", 0, -1, True, None, float("nan"), float("inf"), "1m30",
     timedelta(0), "5s later"],
)  # fmt: skip
def test_what_is_no_budget_is_refused_with_examples(budget):
    with pytest.raises(ConfigError, match="such as 90s, 10m, 1h30m, or a number of seconds, got"):
        seconds_of(budget)


def test_the_time_that_is_left():
    now = iter([100.0, 103.0, 111.0])
    deadline = Deadline(10, clock=lambda: next(now))
    assert deadline.left == 7
    assert deadline.left == -1


@pytest.fixture
def free_alarm():
    """A process whose alarm nobody uses: pytest-timeout does."""
    handler = signal.signal(signal.SIGALRM, signal.SIG_DFL)
    left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    yield
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, left)


def test_what_takes_longer_is_ended(free_alarm):
    deadline = Deadline(0.2)
    started = time.monotonic()
    with pytest.raises(TimeIsUp), deadline.enforced(reserve=0.1):
        time.sleep(20)
    assert time.monotonic() - started < 5


def test_what_is_in_time_is_not_ended(free_alarm):
    with Deadline(30).enforced():
        time.sleep(0.01)
    time.sleep(0.01)  # nor later


def test_an_alarm_of_others_is_left_alone():
    """Then what was begun is finished, and nothing is begun after it."""
    rung = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    try:
        with pytest.raises(TimeIsUp), Deadline(0.01).enforced():
            time.sleep(0.05)
        signal.raise_signal(signal.SIGALRM)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert rung == [signal.SIGALRM]


def test_it_ends_another_thread_too():
    ends = []

    def work() -> None:
        try:
            with Deadline(0.01).enforced():
                while True:
                    time.sleep(0.001)
        except TimeIsUp:
            ends.append("time is up")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ends == ["time is up"]
