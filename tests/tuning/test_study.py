"""Studies in files: they go on, outlive a kill, and belong to one search and one process."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
import time
from pathlib import Path

import optuna
import pytest

from multitudes import ConfigError, DataError
from multitudes.files.lease import beside, held
from multitudes.tuning import Tuner, TuningConfig
from tests.tuning.toy import toy_data, toy_tagger

DATA = toy_data(300)
FORKS = pytest.mark.skipif(sys.platform != "linux", reason="forks a process with libraries loaded")


def tuned(study: Path, n_trials: int = 3, *, data=DATA, tagger=None, **arguments):
    config = TuningConfig(n_trials=n_trials, most_parts=1)
    tuner = Tuner(tagger or toy_tagger(), study=study, budget=60, config=config, **arguments)
    return tuner.tune(data)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> bytes:
    """What a study of three trials looks like on the disk."""
    path = tmp_path_factory.mktemp("studies") / "study.db"
    tuned(path)
    return path.read_bytes()


@pytest.fixture
def study(tmp_path, finished) -> Path:
    path = tmp_path / "odd name?x=%41#.db"
    path.write_bytes(finished)
    return path


def test_a_search_goes_on_where_it_was(study, before_fit):
    seen = []
    before_fit(lambda model, n: seen.append(model.spoil))
    result = tuned(study, 6)
    assert len(result.trials) == 6
    assert 0.6 not in seen  # the default was tried in the first run
    assert len(seen) <= 3
    assert result.difference is not None  # what the default said is in the file
    assert sorted(path.name for path in study.parent.iterdir()) == [study.name]


def test_a_search_that_has_its_trials_only_tells(study, before_fit):
    def fail(model, n):
        raise AssertionError("nothing is left to try")

    before_fit(fail)
    assert len(tuned(study, 3).trials) == 3


def test_the_trial_of_a_killed_process_is_recorded_and_not_repeated(study):
    storage = f"sqlite:///{study.with_name('plain.db')}"
    study.rename(study.with_name("plain.db"))
    optuna.load_study(study_name="multitudes", storage=storage).ask()
    result = tuned(study.with_name("plain.db"), 6)
    assert result.trials[3].state == "failed"
    assert "the process ended while it ran" in result.trials[3].error
    assert len(result.trials) == 6


@FORKS
@pytest.mark.parametrize("at", [1, 3])
def test_kill_9_loses_the_running_trial_only(tmp_path, before_fit, at):
    path, mark = tmp_path / "study.db", tmp_path / "mark"
    calls = []

    def hang(model, n):
        calls.append(n)
        if len(calls) == at:
            mark.touch()
            time.sleep(60)

    before_fit(hang)
    child = os.fork()
    if child == 0:
        tuned(path, 9)
        os._exit(0)
    while not mark.exists():
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    calls[:] = range(100)
    result = tuned(path, 6)
    assert [one.number for one in result.trials] == list(range(6))
    assert result.default.number == 0  # tried again if it was the one that was killed
    failed = [one.number for one in result.trials if one.state == "failed"]
    assert len(failed) == (0 if at == 1 else 1)


@FORKS
def test_two_processes_cannot_have_one_study(study):
    with held(beside(study)):
        child = os.fork()
        if child == 0:
            try:
                tuned(study, 6)
            except DataError as error:
                os._exit(17 if f"process {os.getppid()} is writing it" in str(error) else 1)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": "P@1"}, "the metric differs \\(nDCG@5, now P@1\\)"),
        ({"data": toy_data(301)}, "the data, or what is held out of it"),
        ({"search": ["spoil"]}, "the settings that are searched differ"),
        ({"tagger": toy_tagger(seconds=0.001)}, "the fixed settings differ"),
    ],
)
def test_another_search_is_refused_and_the_file_stays(study, change, message):
    before = study.read_bytes()
    with pytest.raises(ConfigError, match=message):
        tuned(study, 6, **change)
    assert study.read_bytes() == before


def other_database(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE mine (x)")
    database.close()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_text("my notes"), "is not a study that multitudes made"),
        (other_database, "is not a study that multitudes made"),
        (lambda path: path.mkdir(), "is a folder"),
    ],
)
def test_what_is_not_a_study_is_refused_and_stays(tmp_path, make, message):
    path = tmp_path / "mine"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(ConfigError, match=message):
        tuned(path)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_damaged_study_is_refused_in_words(study):
    content = bytearray(study.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    study.write_bytes(content)
    with pytest.raises(Exception, match="study") as caught:
        tuned(study, 6)
    assert type(caught.value).__module__ == "multitudes.errors"


def test_a_folder_that_is_missing_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="there is no folder"):
        tuned(tmp_path / "missing" / "study.db")


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="needs permissions")
def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(DataError, match="cannot write"):
            tuned(tmp_path / "study.db")
    finally:
        tmp_path.chmod(0o700)
