"""A run that was stopped, however, ends as if it had never been."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from multitudes.deep.training import Checkpoint
from multitudes.errors import ConfigError, StoreError
from multitudes.store import read_manifest

from .problems import PER_EPOCH, Problem

ROOT = Path(__file__).parents[3]
EVERY_BATCH = {"checkpoint_minutes": 0, "log_every": 1}  # a checkpoint after every step

# Trains in a process of its own, which is killed in the middle of a step of the second epoch.
KILLED = """
import os, signal, sys
from tests.deep.training.problems import Problem
from multitudes.deep.training import Checkpoint

problem = Problem()
problem.at(1, 5, lambda loss: os.kill(os.getpid(), signal.SIGKILL))
problem.train(
    checkpoint=Checkpoint(sys.argv[1]),
    validate=lambda: {"fit": -problem.error()},
    checkpoint_minutes=0,
    log_every=2,
)
"""


@pytest.fixture(autouse=True)
def no_wait_for_the_disk(monkeypatch):
    """Hundreds of checkpoints are written here; none has to survive a power cut."""
    monkeypatch.setattr("multitudes.files.disk.Disk.sync", lambda disk, handle: None)


class StopError(Exception):
    """Something of the user's own goes wrong."""


def stop(loss):
    raise StopError


def interrupted(folder, epoch, batch, **settings):
    """A run that got as far as a batch; whatever was saved lies in the folder."""
    problem = Problem()
    problem.at(epoch, batch, stop)
    with pytest.raises(StopError):
        problem.train(checkpoint=Checkpoint(folder), **{**EVERY_BATCH, **settings})


def test_a_killed_run_ends_with_the_same_weights(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL
    uninterrupted, resumed = Problem(), Problem()
    whole = uninterrupted.train(validate=lambda: {"fit": -uninterrupted.error()})
    history = resumed.train(
        checkpoint=Checkpoint(tmp_path), validate=lambda: {"fit": -resumed.error()}
    )
    assert resumed.seen[0] in {(1, 4), (1, 5)}  # the later one on a very busy machine
    resumed.assert_same(uninterrupted)
    for one, other in zip(history.epochs, whole.epochs, strict=True):
        assert (one.epoch, one.n_batches) == (other.epoch, other.n_batches)
        assert one.metrics == other.metrics
        assert one.terms == pytest.approx(other.terms)


ACCUMULATED = {"accumulate": 3, "clip": 0.1}


@pytest.mark.parametrize(
    ("epoch", "batch", "settings"),
    [
        (0, 1, {}),
        (0, 7, {}),
        (1, 0, {}),
        (1, 5, {"schedule": "cosine", "precision": "bf16"}),
        (0, 4, ACCUMULATED),
        (1, 7, ACCUMULATED),
    ],
)
def test_wherever_it_stops(tmp_path, epoch, batch, settings):
    uninterrupted, resumed = Problem(), Problem()
    uninterrupted.train(**settings)
    interrupted(tmp_path, epoch, batch, **settings)
    resumed.train(checkpoint=Checkpoint(tmp_path), **settings)
    resumed.assert_same(uninterrupted)
    per_step = settings.get("accumulate", 1)
    # What follows the last whole optimizer step is done again; 0 where none was finished.
    assert resumed.seen[0] == (epoch, batch // per_step * per_step)


def test_a_run_can_stop_again_and_again(tmp_path):
    uninterrupted, resumed = Problem(), Problem()
    uninterrupted.train()
    for epoch, batch in [(0, 2), (0, 3), (1, 1)]:
        interrupted(tmp_path, epoch, batch)
    resumed.train(checkpoint=Checkpoint(tmp_path))
    resumed.assert_same(uninterrupted)


def test_early_stopping_and_the_best_weights_survive(tmp_path):
    values = {0: 0.1, 1: 0.5, 2: 0.4, 3: 0.3, 4: 0.9}

    def fit(problem, **settings):
        def validate():
            return {"fit": values[problem.seen[-1][0]]}

        return problem.train(epochs=5, patience=2, validate=validate, **settings)

    uninterrupted, stopped, resumed = Problem(), Problem(), Problem()
    history = fit(uninterrupted)
    stopped.at(3, 6, stop)
    with pytest.raises(StopError):
        fit(stopped, checkpoint=Checkpoint(tmp_path), checkpoint_minutes=0, log_every=3)
    assert fit(resumed, checkpoint=Checkpoint(tmp_path)).best.epoch == 1
    assert len(history.epochs) == 4
    resumed.assert_same(uninterrupted)


def test_a_finished_run_comes_back_without_training(tmp_path):
    first, again = Problem(), Problem()
    settings = {"validate": lambda: {"fit": 1.0}, "checkpoint": Checkpoint(tmp_path / "run")}
    history = first.train(**settings)
    assert again.train(**settings) == history
    assert again.seen == []
    again.assert_same(first)
    Checkpoint(tmp_path / "run").clear()
    assert list(tmp_path.iterdir()) == []


def test_files_of_somebody_else_survive_clearing(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    Problem().train(checkpoint=Checkpoint(tmp_path))
    Checkpoint(tmp_path).clear()
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("settings", "difference"),
    [
        ({"learning_rate": 0.5}, r"training.learning_rate \(0.01 there, 0.5 now\)"),
        ({"epochs": 4}, r"training.epochs \(3 there, 4 now\)"),
        ({"random_state": 3}, r"training.random_state \(0 there, 3 now\)"),
    ],
)
def test_other_settings_are_refused_by_name(tmp_path, settings, difference):
    interrupted(tmp_path, 1, 0)
    with pytest.raises(ConfigError, match=difference):
        Problem().train(checkpoint=Checkpoint(tmp_path), **settings)


def test_other_data_and_other_models_are_refused_by_name(tmp_path):
    problem = Problem()
    problem.at(1, 0, stop)
    with pytest.raises(StopError):
        problem.train(checkpoint=Checkpoint(tmp_path, {"data": "abc"}), **EVERY_BATCH)
    with pytest.raises(ConfigError, match=r"data \('abc' there, 'abd' now\)"):
        Problem().train(checkpoint=Checkpoint(tmp_path, {"data": "abd"}))
    with pytest.raises(ConfigError, match=r"data \('abc' there, 'nothing' now\)"):
        Problem().train(checkpoint=Checkpoint(tmp_path))
    other = Problem()
    other.model.table = torch.nn.Embedding(5, 2)
    with pytest.raises(ConfigError, match=r"model.table.weight \(\[4, 2\] there, \[5, 2\] now\)"):
        other.train(checkpoint=Checkpoint(tmp_path, {"data": "abc"}))


def test_settings_that_change_no_weight_do_not_stop_it(tmp_path):
    uninterrupted, resumed = Problem(), Problem()
    uninterrupted.train()
    interrupted(tmp_path, 1, 3)
    own_words = {"training": {"log_every": 7}}  # a caller may hand in all its settings
    resumed.train(checkpoint=Checkpoint(tmp_path, own_words), log_every=7, checkpoint_minutes=5)
    resumed.assert_same(uninterrupted)


def test_ctrl_c_saves_between_two_steps_and_says_how_to_go_on(tmp_path):
    uninterrupted, stopped, resumed = Problem(), Problem(), Problem()
    uninterrupted.train()
    stopped.at(1, 2, lambda loss: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt, match="epoch 2 of 3, batch 3 of 8 .* the same call"):
        stopped.train(checkpoint=Checkpoint(tmp_path), log_every=1)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    resumed.train(checkpoint=Checkpoint(tmp_path))
    assert resumed.seen[0] == (1, 3)
    resumed.assert_same(uninterrupted)


def test_ctrl_c_twice_stops_at_once(tmp_path):
    problem = Problem()

    def twice(loss):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    problem.at(1, 2, twice)
    with pytest.raises(KeyboardInterrupt):
        problem.train(checkpoint=Checkpoint(tmp_path))
    assert problem.seen[-1] == (1, 2)


def test_without_a_folder_ctrl_c_is_what_it_always_was():
    problem = Problem()
    problem.at(0, 2, lambda loss: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        problem.train(log_every=1)
    assert problem.seen[-1] == (0, 2)


def test_a_damaged_checkpoint_is_named(tmp_path):
    interrupted(tmp_path, 1, 0)
    arrays = next((tmp_path / "checkpoint").rglob("optimizer/arrays.safetensors"))
    raw = bytearray(arrays.read_bytes())
    raw[-1] ^= 1
    arrays.write_bytes(bytes(raw))
    with pytest.raises(StoreError, match="optimizer/arrays.safetensors is damaged"):
        Problem().train(checkpoint=Checkpoint(tmp_path))


def test_nothing_on_disk_can_run_code(tmp_path):
    interrupted(tmp_path, 1, 0)
    suffixes = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert suffixes == {".json", ".safetensors"}
    assert read_manifest(tmp_path / "checkpoint").root.kind == "training-checkpoint"


def test_a_checkpoint_can_be_moved(tmp_path):
    uninterrupted, resumed = Problem(), Problem()
    uninterrupted.train()
    interrupted(tmp_path / "here", 1, 3)
    shutil.move(tmp_path / "here", tmp_path / "there")
    resumed.train(checkpoint=Checkpoint(tmp_path / "there"))
    resumed.assert_same(uninterrupted)


def test_checkpoints_come_by_the_clock_and_at_the_end(tmp_path, monkeypatch):
    """An epoch's end is no reason to write while the last checkpoint took long to write."""
    written = []
    write = Checkpoint.write

    def note(self, parts, *, name="checkpoint"):
        written.append(parts["run"]["position"])
        write(self, parts, name=name)

    monkeypatch.setattr(Checkpoint, "write", note)
    monkeypatch.setattr("multitudes.deep.training.supervisor.CHECKPOINT_SHARE", 1e-9)
    Problem().train(checkpoint=Checkpoint(tmp_path), epochs=4)
    assert [position["epoch"] for position in written] == [1, 4]
    assert PER_EPOCH not in [position["batch"] for position in written]
