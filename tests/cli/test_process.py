"""How the process of a command ends: at once, but not before what asked to be called."""

from __future__ import annotations

import subprocess
import sys

import pytest

PLAY = """
import atexit, sys, threading, time
from multitudes.cli import process
class Freed:
    def __del__(self):
        sys.stderr.write("freed ")
kept = Freed()
atexit.register(print, "called")
print("written", end=" ")
{before}
process.leave({code!r})
print("came back")
"""


def ending(code: object, before: str = "") -> tuple[int, str, str]:
    """Return the exit code of a process, and what it printed on stdout and stderr."""
    done = subprocess.run(
        [sys.executable, "-c", PLAY.format(code=code, before=before)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    return done.returncode, done.stdout.strip(), done.stderr.strip()


@pytest.mark.parametrize("code", [None, 0, 3])
def test_nothing_is_freed_but_all_is_written(code: object) -> None:
    assert ending(code) == (code or 0, "written called", "")


@pytest.mark.parametrize(
    ("code", "before"),
    [
        ("a message", ""),
        (0, "threading.Thread(target=time.sleep, args=(0.5,)).start()"),
        (0, "sys.setprofile(lambda *event: None)"),
    ],
    ids=["message", "thread", "profiler"],
)
def test_python_ends_where_there_is_more_to_do(code: object, before: str) -> None:
    assert ending(code, before)[:2] == (0, "written came back\ncalled")


def test_the_collector_comes_back() -> None:
    code = """
import gc
from multitudes.cli import process
usual = gc.get_threshold()
process.collect_later()
print(gc.get_threshold()[0] > usual[0])
gc.collect()
print(gc.get_threshold() == usual, gc.callbacks)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "[]"]
