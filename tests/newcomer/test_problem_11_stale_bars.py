"""Problem 11: bars of finished stages stayed on the screen, and counted "steps" by the million."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo terminals")

STAGES = """
import time
from concurrent.futures import ThreadPoolExecutor
from multitudes import progress
from multitudes.data import make_catalogue
from multitudes.tagger import Tagger

progress.SECONDS_BEFORE_A_BAR, progress.SECONDS_BETWEEN_LOOKS = 0.0, 0.005
progress.SECONDS_WORTH_A_TICK = 0.0
shop = make_catalogue(2000, n_labels=200, random_state=1).dataset
with progress.shown():
    with progress.track("waiting", 8, "texts") as task, ThreadPoolExecutor(8) as pool:
        def wait(_):
            time.sleep(0.3)
            task.advance()
        list(pool.map(wait, range(8)))
    with progress.track("stages within", 3, "rounds"):
        for _ in range(3):
            with progress.track("inside"):
                time.sleep(0.15)
    Tagger("xr-linear", settings={"max_leaf_size": 20}, n_jobs=2).fit(shop)
"""
LABELS = {"reading texts", "clustering labels", "training", "waiting", "stages within"}


def screen_of(stream: str) -> list[str]:
    """Return the lines that a terminal shows in the end, from what was written to it."""
    lines, row = [""], 0
    for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", stream):
        if part == "\n":
            row += 1
            lines += [""] * (row == len(lines))
        elif part == "\x1b[1A":
            row -= 1
        elif part == "\x1b[2K":
            lines[row] = ""
        elif part != "\r" and not part.startswith("\x1b"):
            lines[row] += part
    return [line.rstrip() for line in lines if line.strip()]


@pytest.fixture(scope="module")
def written():
    """All that a training wrote to a terminal of 70 columns."""
    import pty

    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "70", "TERM": "xterm-256color"}
    with subprocess.Popen(
        [sys.executable, "-c", STAGES], stderr=theirs, stdout=subprocess.DEVNULL, env=environment
    ) as child:
        os.close(theirs)
        stream = b""
        try:
            while found := os.read(ours, 65536):
                stream += found
        except OSError:  # Linux says that way that the other side is closed
            pass
    os.close(ours)
    assert child.returncode == 0, stream.decode()
    return stream.decode()


def test_finished_stages_show_as_done_and_no_bar_stays(written):
    left = screen_of(written)
    ticks = [line for line in left if line.startswith("✓ ")]
    assert {re.sub(r"  [\d.]+ s$", "", line[2:]) for line in ticks} == LABELS
    said = ("learning from", "model: ", "device: ")
    assert [line for line in left if line not in ticks and not line.startswith(said)] == []


def test_stages_inside_others_are_shown_but_leave_nothing(written):
    assert "inside" in written
    assert not any("inside" in line for line in screen_of(written))


def test_units_are_those_of_people(written):
    assert "of 8 texts" in written
    assert "steps" not in written


def test_a_bar_leaves_room_for_the_signs_of_ctrl_c(written):
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written)
    assert max(len(line) for line in re.split(r"[\r\n]", plain)) <= 67
