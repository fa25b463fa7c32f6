"""Commands that are stopped or lack something: a sentence, the exit code, no leftovers."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

import pytest

from campaigns.kills.faulty_disk import CountingDisk, RefusingDisk, SignallingDisk
from campaigns.kills.processes import Disturbance, forked
from multitudes import stopping
from multitudes.cli import main
from multitudes.cli.printing.shortage import shortage
from multitudes.errors import ResourceError, StoreError
from multitudes.files.disk import on
from multitudes.linear.checkpoint import Checkpoint

pytestmark = pytest.mark.skipif(os.name == "nt", reason="fork is POSIX")

CONVERT = ["convert", "data.jsonl", "out.csv", "-q"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    folder = tmp_path / "place"
    folder.mkdir()
    monkeypatch.chdir(folder)
    lines = [json.dumps({"text": f"text {row}", "labels": ["a"]}) for row in range(200)]
    (folder / "data.jsonl").write_text("\n".join(lines))
    (folder / "out.csv").write_text("old")
    return folder


def entries(place: Path) -> set[str]:
    return {path.name for path in place.iterdir()}


def calls_of(arguments: list[str]) -> int:
    counting = CountingDisk()
    with on(counting), pytest.raises(SystemExit):
        main(arguments)
    return len(counting.calls)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (signal.SIGINT, "interrupted: nothing was left half-written"),
        (signal.SIGTERM, "stopped by SIGTERM: nothing was left half-written"),
        (signal.SIGHUP, "stopped by SIGHUP: nothing was left half-written"),
    ],
)
def test_a_signal_at_any_call_is_a_sentence_and_the_conventional_code(place, number, said):
    before = stopped_at_all = 0
    for point in range(calls_of(CONVERT)):
        (place / "out.csv").write_text("old")
        ended = forked(CONVERT, place, SignallingDisk(point, number))
        assert ended.code == 128 + number
        assert ended.said.strip() == said
        assert entries(place) == {"data.jsonl", "out.csv"}  # nothing is left, at once
        before += (place / "out.csv").read_text() == "old"
        stopped_at_all += 1
    assert 0 < before < stopped_at_all  # some came before the rename, some after it


def test_a_signal_that_was_ignored_stays_so(place):
    """``nohup`` says so."""
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        code = 9
        try:
            with on(SignallingDisk(2, signal.SIGHUP)):
                main(CONVERT)
        except SystemExit as end:
            code = int(end.code or 0)
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert (place / "out.csv").read_text() != "old"


@pytest.mark.parametrize(
    ("how", "code", "said"),
    [
        (Disturbance(limits={resource.RLIMIT_FSIZE: 1_000}), 3, "File too large"),
        (Disturbance(limits={resource.RLIMIT_NOFILE: 1}), 3, "Too many open files"),
    ],
)
def test_limits_of_the_session_are_named(place, how, code, said):
    ended = forked(CONVERT, place, how=how)
    assert ended.code in (code, ResourceError.exit_code)
    assert said.lower() in ended.said.lower()
    assert "Traceback" not in ended.said
    assert entries(place) == {"data.jsonl", "out.csv"}
    assert (place / "out.csv").read_text() == "old"


def test_a_full_disk_behind_stdout_is_one_sentence(place):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
        os.dup2(write_end, 2)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
        code = 9
        try:
            main(["convert", "data.jsonl", "-", "-q"])
        except SystemExit as end:
            code = int(end.code or 0)
        sys.stderr.flush()
        os._exit(code)
    os.close(write_end)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == StoreError.exit_code
    assert "the disk is full" in os.read(read_end, 4096).decode()
    os.close(read_end)


def test_a_read_only_folder_is_one_sentence(place):
    ended = forked(CONVERT, place, RefusingDisk(0, errno.EROFS))
    assert ended.code == 3
    assert "Read-only file system" in ended.said
    assert (place / "out.csv").read_text() == "old"


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (OSError(errno.ENOSPC, "full", "file"), StoreError, "the disk is full"),
        (OSError(errno.EMFILE, "many"), ResourceError, "too many files"),
        (OSError(errno.ENOMEM, "none"), ResourceError, "out of memory"),
        (MemoryError("9 GB"), ResourceError, r"out of memory \(9 GB\)"),
        (RuntimeError("can't start new thread"), ResourceError, "out of memory"),
        (ImportError("x.so: failed to map segment from shared object"), ResourceError, "memory"),
    ],
)
def test_what_the_machine_lacks_is_named(error, kind, said):
    with pytest.raises(kind, match=said):
        raise shortage(error) or AssertionError("not seen")
    wrapped = ValueError("of a library")
    wrapped.__cause__ = error
    assert isinstance(shortage(wrapped), kind)
    assert shortage(ValueError("other")) is None


def test_signals_wait_while_files_are_put_into_place():
    """In a child, for the handlers are of the whole process."""
    pid = os.fork()
    if pid == 0:
        steps = []
        stopping.install()
        try:
            with stopping.shielded():
                os.kill(os.getpid(), signal.SIGTERM)
                steps.append("cleaned up")
                with stopping.exposed():
                    steps.append("never")
        except KeyboardInterrupt:
            os.kill(os.getpid(), signal.SIGTERM)  # sent twice: adds nothing
            time.sleep(0.01)
        os._exit(stopping.exit_code() if steps == ["cleaned up"] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 143


def test_a_signal_while_a_checkpoint_is_cleared_leaves_none_of_it(tmp_path, monkeypatch):
    checkpoint = Checkpoint(tmp_path / "run", "0" * 16)
    for name in ("tree", "level-0"):
        (checkpoint.folder / name).mkdir(parents=True)
        (checkpoint.folder / name / "data").write_bytes(b"0")
    pid = os.fork()
    if pid == 0:
        remove = os.unlink
        monkeypatch.setattr(
            os, "unlink", lambda *a, **k: (os.kill(os.getpid(), signal.SIGINT), remove(*a, **k))
        )
        stopping.install()
        try:
            checkpoint.clear()
        except KeyboardInterrupt:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert not (tmp_path / "run").exists()


def test_a_signal_during_a_finalizer_is_not_lost():
    class Slow:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)

    pid = os.fork()
    if pid == 0:
        stopping.install()
        try:
            Slow()
            time.sleep(30)
        except KeyboardInterrupt:
            os._exit(stopping.exit_code())
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 143
