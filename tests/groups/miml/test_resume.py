"""A training on bags that was stopped, however, ends with the weights of one that was not."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from multitudes.errors import ConfigError, StoreError
from multitudes.groups import DeepMIML, MIMLTraining
from multitudes.groups.miml import bag_run, fit_network
from tests.groups.miml.problems import bagged

ROOT = Path(__file__).parents[3]
N_EPOCHS = 6

# Trains in a process of its own, which is killed in the middle of its fourth epoch.
KILLED = """
import os, signal, sys
from multitudes.groups.miml import bag_run, fit_network
from tests.groups.miml import test_resume

bag_run.SAVE_SECONDS = 0
test_resume.before_pass(3, lambda: os.kill(os.getpid(), signal.SIGKILL))
test_resume.fitted(sys.argv[1])
"""


class StopError(Exception):
    """Something goes wrong in the middle."""


def stop():
    raise StopError


def before_pass(number, action, patch=setattr):
    """Do something before a certain pass over the bags."""
    passes = fit_network._pass_over

    def passed(bags, run, *rest):
        if len(run.epochs) == number:
            action()
        return passes(bags, run, *rest)

    patch(fit_network, "_pass_over", passed)


def fitted(checkpoint=None, *, n=120, **settings):
    problem = bagged(n)
    training = MIMLTraining(n_epochs=N_EPOCHS, learning_rate=0.03, patience=2)
    model = DeepMIML(training=training, device="cpu", **settings)
    return model.fit(problem.X, problem.groups, problem.group_labels, checkpoint=checkpoint)


def assert_same(model, other):
    assert model.history_ == other.history_
    for name, weight in other.network_.state_dict().items():
        assert torch.equal(model.network_.state_dict()[name], weight), name


@pytest.fixture(autouse=True)
def saved_after_every_epoch(monkeypatch):
    monkeypatch.setattr(bag_run, "SAVE_SECONDS", 0)
    monkeypatch.setattr("multitudes.files.disk.Disk.sync", lambda disk, handle: None)


@pytest.fixture(scope="module")
def whole():
    return fitted()


@pytest.mark.parametrize("epoch", [0, 1, N_EPOCHS - 1])
def test_a_stopped_fit_goes_on_to_the_same_weights(whole, epoch, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        before_pass(epoch, stop, patch.setattr)
        with pytest.raises(StopError):
            fitted(tmp_path / "run")
    seen = []
    before_pass(epoch, lambda: seen.append("went on"), monkeypatch.setattr)
    if epoch:
        before_pass(epoch - 1, stop, monkeypatch.setattr)  # what was done is not done again
    assert_same(fitted(tmp_path / "run"), whole)
    assert seen == ["went on"]


def test_a_killed_fit_goes_on_to_the_same_weights(whole, tmp_path):
    found = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "run")], cwd=ROOT)
    assert found.returncode == -signal.SIGKILL
    assert_same(fitted(tmp_path / "run"), whole)


def test_ctrl_c_saves_the_epoch_that_was_begun(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(bag_run, "SAVE_SECONDS", 1e9)
    with monkeypatch.context() as patch:
        before_pass(2, lambda: os.kill(os.getpid(), signal.SIGINT), patch.setattr)
        with pytest.raises(KeyboardInterrupt, match="stopped after epoch 3 and saved"):
            fitted(tmp_path / "run")
    before_pass(2, stop, monkeypatch.setattr)
    assert_same(fitted(tmp_path / "run"), whole)


def test_a_fit_that_is_over_is_not_done_again(whole, tmp_path, monkeypatch):
    fitted(tmp_path / "run")
    for epoch in range(N_EPOCHS):
        before_pass(epoch, stop, monkeypatch.setattr)
    assert_same(fitted(tmp_path / "run"), whole)


def test_other_data_settings_and_damage_are_refused(tmp_path):
    fitted(tmp_path / "run")
    with pytest.raises(ConfigError, match=r"data \("):
        fitted(tmp_path / "run", n=160)
    with pytest.raises(ConfigError, match=r"tau \(0.1 there, 0.5 now\)"):
        fitted(tmp_path / "run", tau=0.5)
    with pytest.raises(ConfigError, match="first_weights"):
        fitted(tmp_path / "run", label_embeddings=np.ones((4, 6), np.float32))
    for file in (tmp_path / "run").rglob("*.safetensors"):
        file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(StoreError):
        fitted(tmp_path / "run")
