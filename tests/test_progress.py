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
