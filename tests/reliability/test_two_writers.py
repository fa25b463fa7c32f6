"""Two writers to one place: the second waits or is refused, and is told who the first one is."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from multitudes.cli import main
from multitudes.data import open_write
from multitudes.data.compression import claimed
from multitudes.deep.training.checkpoint import Checkpoint
from multitudes.errors import DataError, StoreError
from multitudes.files.lease import beside, held, take
from multitudes.files.leftovers import sweep
from multitudes.linear.checkpoint import Checkpoint as TreeCheckpoint
from multitudes.store import load, save
from multitudes.store.folder import writing

from .numbered_model import number_of, numbered

pytestmark = pytest.mark.skipif(os.name == "nt", reason="fork is POSIX")


@contextmanager
def elsewhere(holding: Callable[[], AbstractContextManager[object]]) -> Iterator[int]:
    """Let another process hold something; yield its id."""
    reading, writing_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            with holding():
                os.write(writing_end, b"held")
                time.sleep(60)
        finally:
            os._exit(0)
    try:
        assert os.read(reading, 4) == b"held"
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(reading)
        os.close(writing_end)


def test_a_second_writer_of_a_file_is_refused_with_the_process_of_the_first(tmp_path):
    path = tmp_path / "out.txt"
    with (
        elsewhere(lambda: open_write(path)) as pid,
        pytest.raises(DataError, match=rf"cannot write .*out\.txt: process {pid} is writing it"),
        open_write(path),
    ):
        pass
    with open_write(path) as file:  # the first one is dead
        file.write(b"x")
    assert {entry.name for entry in tmp_path.iterdir()} == {"out.txt"}


def test_temporaries_of_the_living_are_left_alone(tmp_path):
    with elsewhere(lambda: open_write(tmp_path / "out.txt")):
        before = set(tmp_path.iterdir())
        assert len(before) == 2
        sweep(tmp_path)
        assert set(tmp_path.iterdir()) == before
    sweep(tmp_path)
    assert set(tmp_path.iterdir()) == set()


def test_a_second_thread_and_the_same_thread_are_refused(tmp_path):
    refusals = []

    def second() -> None:
        try:
            with open_write(tmp_path / "a"):
                pass
        except DataError as refusal:
            refusals.append(str(refusal))

    with open_write(tmp_path / "a"):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
        second()
    assert len(refusals) == 2
    assert all(f"this process ({os.getpid()}) itself" in refusal for refusal in refusals)


def test_a_second_save_waits_for_the_first(tmp_path):
    save(numbered(1), tmp_path / "model")
    lease = take(tmp_path / "model" / ".multitudes-lock")
    thread = threading.Thread(target=lambda: save(numbered(2), tmp_path / "model"))
    thread.start()
    thread.join(0.3)
    assert thread.is_alive()
    assert number_of(load(tmp_path / "model")) == 1
    lease.release()
    thread.join(60)
    assert number_of(load(tmp_path / "model", verify=True)) == 2


def test_a_save_does_not_wait_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr("multitudes.store.folder.SECONDS_TO_WAIT", 0.1)
    with (
        elsewhere(lambda: writing(tmp_path / "model")) as pid,
        pytest.raises(StoreError, match=f"process {pid} is writing to .*model"),
    ):
        save(numbered(1), tmp_path / "model")


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("verb", ["train", "update", "calibrate"])
def test_a_command_that_makes_a_model_is_refused_at_once(tmp_path, capsys, verb, exists):
    model = tmp_path / "model"
    if exists or verb != "train":
        save(numbered(1), model)
    commands = {
        "train": ["train", "missing.jsonl", "-o", str(model), "--force", "-m", "xr-linear"],
        "update": ["update", str(model), "missing.jsonl"],
        "calibrate": ["calibrate", str(model), "missing.jsonl"],
    }
    with elsewhere(lambda: writing(model)) as pid, pytest.raises(SystemExit) as end:
        main(commands[verb])
    assert end.value.code == 4
    assert f"process {pid} is writing to" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("verb", ["predict", "convert", "group"])
def test_a_command_that_writes_data_is_refused_at_once(tmp_path, capsys, verb):
    out = tmp_path / "out.jsonl"
    commands = {
        "predict": ["predict", "missing", "missing.jsonl", "-o", str(out)],
        "convert": ["convert", "missing.jsonl", str(out)],
        "group": ["group", "missing.jsonl", "--random", "3", "-o", str(out)],
    }
    with elsewhere(lambda: claimed(out)) as pid, pytest.raises(SystemExit) as end:
        main(commands[verb])
    assert end.value.code == 3
    assert f"process {pid} is writing it" in " ".join(capsys.readouterr().err.split())
    assert list(tmp_path.iterdir()) == [beside(out)]


def test_a_checkpoint_belongs_to_one_training(tmp_path):
    for hold in (TreeCheckpoint(tmp_path / "run", "abc").held, lambda: writing(tmp_path / "run")):
        with (
            elsewhere(hold) as pid,
            pytest.raises(StoreError, match=f"process {pid} is writing to .*run"),
            TreeCheckpoint(tmp_path / "run", "other").held(),
        ):
            pass
    Checkpoint(tmp_path / "run").clear()
    with writing(tmp_path / "run"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_lease_of_the_dead_is_free_and_one_of_a_forked_child_is_not_kept(tmp_path):
    path = tmp_path / "lease"
    reading, ending = os.pipe()
    pid = os.fork()
    if pid == 0:  # takes the lease, leaves a child behind, and dies
        take(path)
        if os.fork() == 0:
            os.close(ending)
            os.read(reading, 1)  # until the test is over
        os._exit(0)
    os.waitpid(pid, 0)
    with held(path, wait=5):
        assert path.read_text() == f"{os.getpid()}\n"
    os.close(ending)
    os.close(reading)


def test_many_threads_take_turns(tmp_path):
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(20):
            with held(tmp_path / "lease", wait=60):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_device_is_written_to_and_not_replaced(tmp_path):
    with open_write("/dev/null") as file:
        file.write(b"x")
    assert not Path("/dev/null").is_file()
    os.mkfifo(tmp_path / "pipe")
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    with open_write(tmp_path / "pipe") as file:
        file.write(b"through")
    reader.join()
    assert got == [b"through"]


def test_a_link_stays_and_so_do_permissions(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    with open_write(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", ["a" * 5000, "\ud800", "a\0b"])
def test_a_name_that_no_folder_can_have_is_refused(name, tmp_path):
    with (
        pytest.raises(StoreError, match="cannot write to .*choose another path"),
        writing(tmp_path / name),
    ):
        pass
