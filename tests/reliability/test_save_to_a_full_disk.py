"""A disk that is full, a limit of file sizes, a read-only folder: one sentence, old model whole."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from multitudes.cli import main
from multitudes.errors import StoreError
from multitudes.store import State, read_state, save

resource = pytest.importorskip("resource")


def small() -> State:
    return State("test-model", {"size": "small"}, {"x": np.arange(10)}, version=1)


def large(**more) -> State:
    return State("test-model", {"size": "large"}, {"x": np.arange(300_000)}, version=1, **more)


@contextmanager
def file_size_limit(n_bytes: int) -> Iterator[None]:
    """No file of this process may grow beyond a limit: as with ``ulimit -f``, or a quota."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def full_disk(tmp_path) -> Iterator[Path]:
    """A disk of 1 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a small tmpfs cannot be mounted here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def leftovers(folder: Path) -> list[str]:
    """What is in a folder beside models; lease files of living processes would be removed too."""
    return sorted(path.name for path in folder.iterdir() if path.name != "model")


def fill_with_safetensors(folder: Path) -> None:
    """As text encoders are written: by a library that has an error of its own for a full disk."""
    from safetensors.numpy import save_file

    save_file({"x": np.arange(300_000)}, folder / "model.safetensors")


def fill_with_strange_error(folder: Path) -> None:
    raise RuntimeError("PytorchStreamWriter failed writing file data/0: file write failed")


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        large(),
        State("test-model", strings={"words": ["a word"] * 100_000}, version=1),
        State("test-model", folders={"f": fill_with_safetensors}, version=1),
        State("test-model", folders={"f": fill_with_strange_error}, version=1),
        State("test-model", {"list": list(range(30_000))}, version=1),  # a large manifest
    ],
    ids=["arrays", "strings", "safetensors", "another error", "manifest"],
)
def test_a_limit_of_file_sizes(tmp_path, before, model):
    path = tmp_path / "model"
    if before:
        save(small(), path)
    with file_size_limit(100_000), pytest.raises(StoreError, match="could not save to") as caught:
        save(model, path)
    assert str(path) in str(caught.value)
    assert leftovers(tmp_path) == []
    if before:
        assert read_state(path, verify=True).config == {"size": "small"}
        assert len(list(path.iterdir())) == 2, "manifest and data"
    else:
        assert not path.exists()


def test_a_full_disk(full_disk):
    path = full_disk / "model"
    save(small(), path)
    with pytest.raises(StoreError, match="No space left on device"):
        save(large(), path)
    assert read_state(path, verify=True).config == {"size": "small"}
    assert leftovers(full_disk) == []
    assert len(list(path.iterdir())) == 2, "manifest and data"


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_a_read_only_folder(tmp_path):
    path = tmp_path / "model"
    save(small(), path)
    path.chmod(0o500)
    try:
        with pytest.raises(StoreError, match="cannot be written to"):
            save(large(), path)
    finally:
        path.chmod(0o700)
    assert read_state(path, verify=True).config == {"size": "small"}


def test_the_command_line_ends_with_code_4(tmp_path, capfd):
    words = [f"word{i}" for i in range(4000)]
    records = [{"text": " ".join(words[i::7]), "labels": [f"label {i}"]} for i in range(7)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    command = ["train", str(tmp_path / "train.jsonl"), "-o", str(tmp_path / "model"), "-q"]
    with file_size_limit(20_000), pytest.raises(SystemExit) as caught:
        main(command)
    assert caught.value.code == StoreError.exit_code == 4
    assert "could not save to" in capfd.readouterr().err
    assert not (tmp_path / "model").exists()
