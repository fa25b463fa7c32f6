"""Progress in plain lines, as logs and pipes get it."""

import pytest

from multitudes import progress


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BEFORE_SHOWING", 0.0)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)


def test_a_note_stands_beside_the_progress(capfd):
    with progress.shown(), progress.track("training", 4, "instances") as task:
        task.advance(1)
        task.note("loss 0.5")
        task.advance(1)
        task.note("loss 0.25")
        task.advance(1)
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].startswith("training: 25% of 4 instances (")
    assert lines[0].endswith(")")
    assert lines[1].endswith(") loss 0.5")
    assert lines[2].endswith(") loss 0.25")


def test_silent_unless_somebody_asked(capfd):
    with progress.track("training", 4) as task:
        task.note("loss 0.5")
        task.advance(4)
    assert capfd.readouterr().err == ""


def test_work_without_a_known_total_is_counted(capfd):
    with progress.shown(), progress.track("reading") as task:
        task.advance(3)
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].startswith("reading: 3 ")
    assert lines[1].startswith("reading: done in ")


def test_short_work_shows_nothing(capfd, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BEFORE_SHOWING", 60.0)
    with progress.shown(), progress.track("reading", 3) as task:
        task.advance(3)
    assert capfd.readouterr().err == ""


def test_a_terminal_gets_a_bar(monkeypatch, capfd):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with progress.shown(), progress.track("training", 4, "instances") as task:
        task.note("loss 0.5")
        task.advance(1)
        with progress.shown(), progress.track("encoding", None) as inner:
            inner.advance(2)
        (display,) = {progress._display.get()}
        bars = display._progress.tasks
        assert [(bar.description, bar.completed, bar.total) for bar in bars] == [
            ("training (instances)", 1, 4)
        ]
        assert bars[0].fields["words"] == "loss 0.5"
        assert bars[0].fields["rate"].endswith("/s")
    assert display._progress.tasks == []
    assert progress._display.get() is None
