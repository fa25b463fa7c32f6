"""`multitudes train` in several processes, as torchrun starts them: one model, one voice."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from multitudes.cli.training import processes
from multitudes.cli.training.processes import Processes
from multitudes.errors import ConfigError, DataError
from multitudes.tagger import Tagger

LAUNCH = [
    sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
    "-m", "multitudes",
]  # fmt: skip
SMALL = [
    f"--set={setting}"
    for setting in (
        "backbone.name=scratch", "backbone.scratch_layers=1", "backbone.scratch_dim=32",
        "backbone.max_length=12", "prototypes.dropout=0", "prototypes.source_dropout=0",
        "sampler.batch_size=24", "training.epochs=3", "training.learning_rate=2e-4",
    )
] + ["--device", "cpu", "--threads", "1"]  # fmt: skip


def launched(*arguments):
    return subprocess.run(
        [*LAUNCH, *map(str, arguments)],
        env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


@pytest.fixture
def two_processes(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")


@pytest.mark.slow
def test_two_processes_train_one_model(train_file, tmp_path):
    pytest.importorskip("transformers")
    folder = tmp_path / "model"
    told = ("--validation", "0.2", "--refit", "--checkpoint", tmp_path / "run", "--json")
    done = launched("train", train_file, "-o", folder, "-m", "prime-lite", *SMALL, *told)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["model"] == str(folder)  # the first one's alone
    assert done.stderr.count("as asked for") == 2  # before and after --refit
    assert "Warning" not in done.stderr
    assert not (tmp_path / "run").exists()
    found = Tagger.load(folder).predict(["juicy apple"])
    assert np.isfinite(found[0][0][1])


@pytest.mark.slow
def test_a_mistake_is_told_once(train_file, tmp_path):
    pytest.importorskip("transformers")
    done = launched("train", train_file, "-o", tmp_path / "m", "-m", "prime", "--set", "x.y=1")
    assert done.returncode != 0
    assert done.stderr.count("error: ") == 1
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-m", "xr-linear"], "2 processes were started .* xr-linear is trained by one"),
        ([], "auto is trained by one"),
        (["-m", "prime", "--budget", "1m"], "--budget is for one"),
        (["-m", "prime", "--members", "prime,dexa"], "--members is for one"),
    ],
)
def test_what_one_process_trains_is_refused(
    cli, train_file, tmp_path, two_processes, options, message
):
    result = cli("train", train_file, "-o", tmp_path / "m", *options)
    assert result.code == ConfigError.exit_code
    assert re.search(message, " ".join(result.err.split()))
    assert not (tmp_path / "m").exists()


def test_an_error_that_the_first_process_does_not_have_is_told(
    cli, tmp_path, two_processes, monkeypatch
):
    waited = []
    monkeypatch.setattr(processes.time, "sleep", waited.append)
    monkeypatch.setenv("RANK", "1")
    result = cli("train", tmp_path / "missing.jsonl", "-o", tmp_path / "m", "-m", "prime")
    assert result.code == DataError.exit_code
    assert "missing.jsonl does not exist" in result.err
    assert processes.FIRST_SPEAKS in waited


@pytest.mark.parametrize(("rank", "size"), [("2", "2"), ("first", "2"), ("0", "many")])
def test_an_environment_that_makes_no_sense(monkeypatch, rank, size):
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("WORLD_SIZE", size)
    with pytest.raises(ConfigError, match="WORLD_SIZE is .* unset both"):
        Processes.started()


def test_a_process_alone_trains_everything(monkeypatch):
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    alone = Processes.started()
    assert alone == Processes()
    assert alone.is_first
    alone.check("auto", {"--budget": True})
