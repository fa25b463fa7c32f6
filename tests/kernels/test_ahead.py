"""Kernels compiled ahead by a second process: claims, a helper that dies, a folder that is gone."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from multitudes.kernels import ahead

FOREVER = "import time; time.sleep(600)"


def nothing() -> None:
    """A rehearsal."""


@pytest.fixture
def helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A helper that never does anything."""
    monkeypatch.setattr(ahead, "STAGES", ("first", "second"))
    folder = tmp_path / "claims"
    folder.mkdir()
    process = subprocess.Popen([sys.executable, "-c", FOREVER])
    yield ahead.Helper(process, folder, {"first": nothing, "second": nothing})
    process.kill()
    process.wait()


@pytest.fixture
def no_start(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What would have been started, in a process that has not asked before."""
    started: list[list[str]] = []
    monkeypatch.setattr(ahead, "_helper", None)
    monkeypatch.setattr(ahead, "_asked_in", None)
    monkeypatch.setattr(ahead, "available_cores", lambda: 2)
    monkeypatch.delenv(ahead.VARIABLE, raising=False)
    monkeypatch.setattr(ahead, "_started", lambda module, stages: started.append(list(stages)))
    return started


class Kernel:
    """As numba has it: a function, and where it is stored."""

    def __init__(self, folder: Path) -> None:
        self.stats = type("Stats", (), {"cache_path": str(folder)})()
        self.py_func = test_a_stage_is_claimed_by_one_process_alone
        code = self.py_func.__code__
        self.index = folder / f"module.{code.co_name}-{code.co_firstlineno}.py311.nbi"


def test_a_stage_is_claimed_by_one_process_alone(helper: ahead.Helper) -> None:
    helper.settle("first")  # nobody has it, so there is nothing to wait for
    done: list[str] = []
    stages = {"first": lambda: done.append("first"), "second": lambda: done.append("second")}
    ahead.rehearse(helper.folder, stages)
    assert done == ["second"]
    assert not helper.folder.exists()


def test_waits_until_the_helper_is_done(helper: ahead.Helper) -> None:
    (helper.folder / "first").mkdir()  # claimed by the helper
    waiting = threading.Thread(target=helper.settle, args=("first",))
    waiting.start()
    time.sleep(0.1)
    assert waiting.is_alive()
    (helper.folder / "first.done").touch()
    waiting.join(10)
    assert not waiting.is_alive()


@pytest.mark.parametrize("fails", [False, True])
def test_who_waits_compiles_what_comes_next(
    fails: bool, helper: ahead.Helper, monkeypatch: pytest.MonkeyPatch
) -> None:
    (helper.folder / "first").mkdir()  # claimed by the helper

    def second() -> None:
        helper.settle("second")  # the rehearsal is real work, and asks for its stage
        (helper.folder / "first.done").touch()
        if fails:
            raise RuntimeError

    helper.rehearsals = {"second": second}
    helper.settle("first")
    assert (helper.folder / "second").exists()  # claimed, and so left alone by the helper
    assert not helper.open


def test_nothing_is_compiled_ahead_where_there_is_nothing_to_wait_for(
    helper: ahead.Helper, monkeypatch: pytest.MonkeyPatch
) -> None:
    (helper.folder / "first").mkdir()
    (helper.folder / "first.done").touch()
    helper.settle("first")
    assert helper.open == {"second"}


def test_a_killed_helper_is_not_waited_for(helper: ahead.Helper) -> None:
    (helper.folder / "first").mkdir()
    waiting = threading.Thread(target=helper.settle, args=("first",))
    waiting.start()
    helper.process.kill()
    waiting.join(10)
    assert not waiting.is_alive()
    assert not helper.folder.exists()
    assert not helper.open


def test_a_helper_that_is_through_is_not_waited_for(helper: ahead.Helper) -> None:
    helper.folder.rmdir()
    helper.settle("first")
    helper.settle("first")  # and the second time nothing is asked


def test_an_error_in_a_rehearsal_ends_the_helper(tmp_path: Path) -> None:
    def fails() -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        ahead.rehearse(tmp_path, {"first": fails})
    assert not tmp_path.exists()


def test_what_is_cached_is_not_compiled_ahead(tmp_path: Path, no_start: list[list[str]]) -> None:
    stored, missing = Kernel(tmp_path / "stored"), Kernel(tmp_path / "missing")
    stored.index.parent.mkdir()
    stored.index.touch()
    ahead.start("module", {"first": (stored, nothing), "second": (missing, nothing)})
    assert no_start == [["second"]]
    ahead.start("module", {"second": (missing, nothing)})
    assert no_start == [["second"]]  # once in a process


def test_a_kernel_that_was_changed_is_not_cached(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path)
    kernel.index.touch()
    assert ahead.is_cached(kernel)
    os.utime(kernel.index, (0, 0))
    assert not ahead.is_cached(kernel)


@pytest.mark.parametrize("value", ["0", "off", "OFF"])
def test_can_be_turned_off(
    value: str, tmp_path: Path, no_start: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ahead.VARIABLE, value)
    ahead.start("module", {"first": (Kernel(tmp_path), nothing)})
    assert not no_start


def test_one_core_has_no_time_for_a_helper(
    tmp_path: Path, no_start: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "available_cores", lambda: 1)
    ahead.start("module", {"first": (Kernel(tmp_path), nothing)})
    assert not no_start


def test_no_room_for_claims_means_no_helper(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(prefix: str) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ahead.tempfile, "mkdtemp", full)
    assert ahead._started("module", {"first": nothing}) is None
