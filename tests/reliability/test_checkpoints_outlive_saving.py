"""A checkpoint goes after the model is safely saved: killed or refused before, nothing is lost."""

from __future__ import annotations

import errno
import json
import os
import signal
from pathlib import Path

import pytest

from campaigns.kills.commands import COMMANDS, leftovers
from campaigns.kills.faulty_disk import CountingDisk, Dead, DyingDisk
from campaigns.kills.processes import forked
from multitudes.cli import main
from multitudes.files.disk import Disk, on
from multitudes.store import read_manifest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="fork is POSIX")

MODELS = {
    "tree": ["-m", "xr-linear"],
    "ensemble": ["-m", "parabel", "--set", "n_trees=2"],
    "several leaves": ["-m", "xr-linear", "--overlap", "2"],
    "groups": ["-m", "xr-linear", "--groups", "groups.jsonl"],
}


def hashes(model: Path) -> dict[str, str]:
    return {name: entry.sha256 for name, entry in read_manifest(model).files.items()}


def run(*arguments: str) -> int:
    try:
        main(list(arguments))
    except SystemExit as end:
        return int(end.code or 0)
    return 0


class AtTheSave(Disk):
    """Does something when the model, not a stage of the checkpoint, is about to be saved."""

    def __init__(self, what) -> None:
        self.what = what

    def mkdir(self, path: Path) -> None:
        if ".model.saving-" in str(path):
            self.what()
        super().mkdir(path)


class Folders(Disk):
    """Notes which folders are made."""

    def __init__(self, made: list[str]) -> None:
        self.made = made

    def mkdir(self, path: Path) -> None:
        self.made.append(str(path))
        super().mkdir(path)


def full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records = [
        {"uid": str(row), "text": f"w{row % 6} w{row % 4} w{row % 3}", "group": str(row // 2),
         "labels": [f"label {row % 6}", f"label {(row * 7) % 6}"]}
        for row in range(30)
    ]  # fmt: skip
    Path("data.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    groups = [{"group": str(g), "labels": [f"label {g % 6}", f"label {g % 5}"]} for g in range(15)]
    Path("groups.jsonl").write_text("".join(json.dumps(group) + "\n" for group in groups))
    return tmp_path


def training(model: str) -> list[str]:
    settings = ["--set", "branching=2", "--set", "max_leaf_size=2", "--threads", "1", "-q"]
    return ["train", "data.jsonl", "-o", "model", "--checkpoint", "run", *MODELS[model], *settings]


@pytest.mark.parametrize("model", MODELS)
def test_killed_or_refused_between_fit_and_save_the_training_is_kept(model, data, capsys):
    assert run(*training(model)) == 0
    undisturbed = hashes(Path("model"))
    assert not Path("run").exists()
    Path("model").rename("first")

    killing = AtTheSave(lambda: os.kill(os.getpid(), signal.SIGKILL))
    assert forked(training(model), data, killing).code == -signal.SIGKILL
    assert any(Path("run").rglob("manifest.json"))
    assert not Path("model").exists()

    with on(AtTheSave(full)):
        assert run(*training(model)) == 4
    assert "No space left" in capsys.readouterr().err
    assert any(Path("run").rglob("manifest.json"))

    made: list[str] = []
    with on(Folders(made)):
        assert run(*training(model)) == 0
    assert not [path for path in made if "/run/" in path]  # nothing was trained again
    assert hashes(Path("model")) == undisturbed
    assert sorted(path.name for path in data.iterdir() if path.name.startswith(".")) == []
    assert not Path("run").exists()


def test_a_deep_training_dies_at_any_call_and_ends_with_the_same_weights(tmp_path, monkeypatch):
    """Forking a process that runs torch is unwise: its disk dies instead."""
    monkeypatch.setattr(Disk, "sync", lambda disk, handle: None)
    pytest.importorskip("torch")
    from multitudes.deep.training import Checkpoint
    from tests.deep.training.problems import Problem

    settings = {"checkpoint_minutes": 0, "log_every": 4}
    whole = Problem()
    counting = CountingDisk()
    with on(counting):
        whole.train(checkpoint=Checkpoint(tmp_path / "whole"), **settings)
    points = range(0, len(counting.calls), max(1, len(counting.calls) // 3))
    for point in points:
        folder = tmp_path / str(point)
        with on(DyingDisk(point)), pytest.raises(Dead):
            Problem().train(checkpoint=Checkpoint(folder), **settings)
        resumed = Problem()
        resumed.train(checkpoint=Checkpoint(folder), **settings)
        resumed.assert_same(whole)
        Checkpoint(folder).clear()
    assert [path.name for path in tmp_path.iterdir()] == ["whole"]


def test_the_commands_of_the_campaign_write(tmp_path):
    """What the campaign disturbs is the command line as it is: its names exist."""
    from multitudes.cli.app import VERBS

    assert {command.arguments[0] for command in COMMANDS.values()} <= set(VERBS)
    assert leftovers(COMMANDS["train"], tmp_path) == []
