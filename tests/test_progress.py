"""Progress: plain lines for logs and pipes, bars on a terminal, and sentences in between."""

from __future__ import annotations

import threading
import time

import pytest

from multitudes import progress


@pytest.fixture
def impatient(monkeypatch):
    for name in ("A_LINE", "A_BAR"):
        monkeypatch.setattr(progress, f"SECONDS_BEFORE_{name}", 0.0)
    for name in ("SECONDS_BETWEEN_LINES", "SHARE_BETWEEN_LINES"):
        monkeypatch.setattr(progress, name, 0.0)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LOOKS", 0.01)


def test_a_note_stands_beside_the_progress(capfd, impatient):
    with progress.shown(), progress.track("training", 4, "texts") as task:
        task.advance(1)
        task.note("loss 0.5")
        task.advance(1)
        task.note("loss 0.25")
        task.advance(1)
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].startswith("training: 25% of 4 texts (")
    assert lines[0].endswith(")")
    assert lines[1].endswith(") loss 0.5")
    assert lines[2].endswith(") loss 0.25")


def test_silent_unless_somebody_asked(capfd):
    with progress.track("training", 4) as task:
        task.note("loss 0.5")
        task.advance(4)
    progress.say("something")
    assert capfd.readouterr().err == ""
    assert not progress.is_shown()


def test_the_time_left_is_not_told_from_the_first_steps(capfd, impatient):
    with progress.shown(), progress.track("training", 100, "texts") as task:
        task.advance(1)
        task.advance(4)
    lines = capfd.readouterr().err.splitlines()
    assert "left" not in lines[0]
    assert "left" in lines[1]


def test_the_longer_the_work_the_rarer_the_lines(capfd, impatient, monkeypatch):
    monkeypatch.setattr(progress, "SHARE_BETWEEN_LINES", 0.1)
    with progress.shown(), progress.track("training", 10, "texts") as task:
        task.started -= 3600.0
        for _ in range(10):
            task.advance(1)
    lines = capfd.readouterr().err.splitlines()
    assert [line.split("(")[0] for line in lines] == ["training: 10% of 10 texts ", lines[-1]]


def test_work_without_a_known_total_is_counted(capfd, impatient):
    with progress.shown(), progress.track("reading") as task:
        task.advance(3)
    lines = capfd.readouterr().err.splitlines()
    assert lines == ["reading: 3", "reading: done in 0.0 s"]


def test_amounts_that_mean_nothing_are_a_share(capfd, impatient):
    with progress.shown(), progress.track("training", 137_059_050) as task:
        task.advance(68_529_525)
    line = capfd.readouterr().err.splitlines()[0]
    assert line.startswith("training: 50% (")
    assert "/s" not in line


def test_short_work_shows_nothing(capfd):
    with progress.shown(), progress.track("reading", 3) as task:
        task.advance(3)
    assert capfd.readouterr().err == ""


def broken_work():
    with progress.shown(), progress.track("reading", 3) as task:
        task.advance(1)
        task.advance(1 / 0)


def test_work_that_failed_is_not_called_done(capfd, impatient):
    with pytest.raises(ZeroDivisionError):
        broken_work()
    assert "done" not in capfd.readouterr().err


def test_what_was_done_earlier_does_not_count_as_pace():
    task = progress.Task(None, "training", 20, "epochs")
    task.resume_at(10)
    task.started -= 60
    task.advance(1)
    assert task.amount() == "55% of 20 epochs"
    assert task.pace() == ["9 min left"]


def test_sentences_are_printed_at_once(capfd):
    with progress.shown():
        progress.say("model: xr-linear")
        assert capfd.readouterr().err == "model: xr-linear\n"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (99, "99 s"), (100, "2 min"), (1500, "25 min"), (5900, "98 min"),
     (7800, "2 h 10 min"), (7200, "2 h"), (40_000, "11 h")],
)  # fmt: skip
def test_durations_in_words(seconds, words):
    assert progress.duration(seconds) == words


def test_settings_are_spelled_as_the_reader_writes_them():
    assert progress.spelled("training.epochs", 5) == "training.epochs=5"
    assert progress.spelled("device", "cuda") == "device='cuda'"
    with progress.shown(in_flags=True):
        assert progress.spelled("training.epochs", 5) == "--set training.epochs=5"
        assert progress.spelled("device", "cuda") == "--device cuda"
    assert not progress.speaks_in_flags()


def test_a_terminal_gets_one_bar_however_many_threads_report(impatient, monkeypatch):
    """Bars that two threads added at once used to stay for good."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with progress.shown(), progress.track("training", 400, "texts") as task:
        threads = [
            threading.Thread(target=lambda: [task.advance() for _ in range(50)]) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with progress.shown(), progress.track("encoding") as inner:
            inner.advance(2)
            display, deadline = progress._display.get(), time.monotonic() + 10
            while len(display._bars) < 2 and time.monotonic() < deadline:
                time.sleep(0.02)
            bars = [(bar.description, bar.completed) for bar in display._progress.tasks]
            assert bars == [("training", 400), ("encoding", 2)]
    assert display._progress is None
    assert progress._display.get() is None
