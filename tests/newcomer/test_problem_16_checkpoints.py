"""Problem 16: Ctrl-C did not say how to go on, resuming said nothing, and a folder stayed."""

from __future__ import annotations

import re
import signal

import pytest

from multitudes.encoder.network import PrimeNetwork
from multitudes.errors import StoreError
from multitudes.linear.checkpoint import Checkpoint
from multitudes.tagger import Tagger

from .running import QUICK_ENCODER, run, topical, write_lines


@pytest.fixture
def data(tmp_path):
    return write_lines(tmp_path / "train.jsonl", topical(60))


@pytest.fixture
def tree(data, tmp_path):
    """A command that trains a tree of three levels, with a checkpoint."""
    records = topical(200)
    for i, record in enumerate(records):
        record["labels"] = [f"label {i % 40}"]
    write_lines(data, records)
    return [
        "train", data, "-o", tmp_path / "model", "-m", "xr-linear", "--checkpoint",
        tmp_path / "ck", "--set=branching=4", "--set=max_leaf_size=4",
    ]  # fmt: skip


def stop_after(monkeypatch, stage):
    keep = Checkpoint.keep

    def keep_and_stop(self, name, found):
        keep(self, name, found)
        if name == stage:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "keep", keep_and_stop)


def test_a_tree_says_how_to_go_on_and_from_where_it_goes_on(tree, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stop_after(patch, "level-0")
        stopped = run(*tree)
    assert stopped.code == 130
    assert f"saved in {tmp_path / 'ck'}: the same command goes on from there" in stopped.err
    resumed = run(*tree)
    assert resumed.code == 0
    assert f"going on from what is saved in {tmp_path / 'ck'}" in resumed.err
    assert "the label tree, level 1\n" in resumed.err
    assert not (tmp_path / "ck").exists()


def test_nothing_is_saved_yet(tree, tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("multitudes.tagger.tagger.fit_model", stop)
    stopped = run(*tree)
    assert stopped.code == 130
    assert f"before anything could be saved in {tmp_path / 'ck'}" in stopped.err
    assert not (tmp_path / "ck").exists()


def test_without_a_checkpoint_it_says_that_there_is_such_a_thing(data, tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("multitudes.tagger.tagger.fit_model", stop)
    stopped = run("train", data, "-o", tmp_path / "model", "--budget", "none")
    assert stopped.code == 130
    assert "nothing was saved: with --checkpoint FOLDER a training can be resumed" in stopped.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.jsonl"]


@pytest.mark.parametrize("kind", ["tree", "encoder"])
def test_a_model_that_cannot_be_saved_loses_no_training(kind, tree, data, tmp_path, monkeypatch):
    command = tree
    if kind == "encoder":
        place = ["--checkpoint", tmp_path / "ck"]
        command = ["train", data, "-o", tmp_path / "model", *place, *QUICK_ENCODER]

    def full(*_):
        raise StoreError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Tagger, "save", full)
        assert run(*command).code == 4
    assert any((tmp_path / "ck").iterdir())
    again = run(*command)
    assert again.code == 0
    assert "going on from" in again.err
    assert "training level" not in again.err
    assert not (tmp_path / "ck").exists()


def test_stopped_while_evaluating_the_model_is_there(data, tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("multitudes.cli.train._reports", stop)
    stopped = run("train", data, "-o", tmp_path / "model", "--test", data)
    assert stopped.code == 130
    assert f"stopped; the model is saved in {tmp_path / 'model'}" in stopped.err
    assert len(Tagger.load(tmp_path / "model").classes_) == 5


def test_an_encoder_saves_itself_and_goes_on(data, tmp_path, monkeypatch):
    command = [
        "train", data, "-o", tmp_path / "model", "--checkpoint", tmp_path / "ck", *QUICK_ENCODER
    ]  # fmt: skip
    forward, calls = PrimeNetwork.forward, []

    def interrupted(self, batch):
        calls.append(1)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        return forward(self, batch)

    with monkeypatch.context() as patch:
        patch.setattr(PrimeNetwork, "forward", interrupted)
        stopped = run(*command)
    assert stopped.code == 130
    assert "stopping, and saving when this step is done" in stopped.err
    assert f"saved in {tmp_path / 'ck'}: the same command goes on from there" in stopped.err
    resumed = run(*command)
    assert resumed.code == 0
    assert re.search(rf"going on from .*epoch 2 of 4.*, as saved in {tmp_path / 'ck'}", resumed.err)
    assert not (tmp_path / "ck").exists()
