"""Saves that are killed, and saves and loads at the same time: old or new, always whole."""

from __future__ import annotations

import os
import random
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from multitudes.store import load, save

from .box import number_of, numbered

pytestmark = pytest.mark.skipif(os.name == "nt", reason="SIGKILL and fork are POSIX")


class Saver:
    """A process that saves models ``first``, ``first + 1``, ... until it is killed."""

    def __init__(self, server: subprocess.Popen[str], model: Path, first: int, note: Path) -> None:
        note.write_bytes(struct.pack("q", 0))
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(f"{model}\t{first}\t{note}\n")
        server.stdin.flush()
        self.note, self.pid = note, int(server.stdout.readline())

    @property
    def saved(self) -> int:
        """The last number whose save has returned; 0 before the first."""
        return int(struct.unpack("q", self.note.read_bytes())[0])

    def is_alive(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def wait_for_first(self) -> None:
        while not self.saved:
            assert self.is_alive(), "the saving process met an error, see stderr"
            time.sleep(0.001)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        while self.is_alive():
            time.sleep(0.001)


@pytest.fixture(scope="module")
def server() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("saver.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def note(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("notes") / "note"


def entries(path: Path) -> set[str]:
    return {p.name for p in path.iterdir()}


def test_a_killed_save_leaves_the_old_or_the_new_model_whole(server, tmp_path, note):
    model = tmp_path / "model"
    save(numbered(1), model)
    delays = random.Random(7)
    last, cut_off = 1, 0
    for _ in range(50):
        saver = Saver(server, model, last + 1, note)
        saver.wait_for_first()
        time.sleep(delays.uniform(0, 0.03))
        saver.kill()
        cut_off += len(entries(model)) > 2
        found = number_of(load(model, verify=True))
        assert found in (saver.saved, saver.saved + 1)
        last = found
    assert cut_off > 5  # otherwise the kills missed the saves and nothing was tested
    save(numbered(0), model)
    assert len(entries(model)) == 2
    assert entries(tmp_path) == {"model"}


def test_a_killed_first_save_leaves_nothing_or_the_model(server, tmp_path, note):
    delays = random.Random(3)
    found = []
    for attempt in range(40):
        model = tmp_path / f"model{attempt}"
        saver = Saver(server, model, 1, note)
        wait = [saver.wait_for_first, lambda: time.sleep(delays.uniform(0, 0.01))][attempt % 2]
        wait()
        saver.kill()
        found.append(number_of(load(model, verify=True)) if model.exists() else 0)
        save(numbered(9), model)
        assert number_of(load(model, verify=True)) == 9
    assert min(found[::2]) >= 1
    assert entries(tmp_path) == {f"model{attempt}" for attempt in range(40)}


def test_a_reader_never_sees_a_model_in_between(server, tmp_path, note):
    saver = Saver(server, tmp_path / "model", 1, note)
    saver.wait_for_first()
    seen = []
    while saver.saved < 60:
        assert saver.is_alive()
        seen.append(number_of(load(tmp_path / "model", verify=True)))
    saver.kill()
    assert seen == sorted(seen)


def test_two_savers_do_not_harm_each_other(server, tmp_path, note):
    for attempt in range(5):  # the first save of each is the hardest: both make the folder
        model = tmp_path / f"model{attempt}"
        savers = {
            1: Saver(server, model, 1, note),
            1_000: Saver(server, model, 1_000, note.with_name("second")),
        }
        for saver in savers.values():
            saver.wait_for_first()
        while any(saver.saved < first + 15 for first, saver in savers.items()):
            assert all(saver.is_alive() for saver in savers.values())
            number_of(load(model, verify=True))
        for saver in savers.values():
            saver.kill()
        save(numbered(5), model)
        assert number_of(load(model, verify=True)) == 5
        assert len(entries(model)) == 2
    assert len(entries(tmp_path)) == 5
