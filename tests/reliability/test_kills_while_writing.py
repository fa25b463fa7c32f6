"""Killed or refused at any call of the disk: old or new, always whole; the next run leaves nothing.

Every point of each way to write is tried, there being some dozens: forked children are killed.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from campaigns.kills.faulty_disk import CountingDisk, RefusingDisk, SignallingDisk
from multitudes.data import Dataset, open_write, read_dataset, write_dataset
from multitudes.deep.training.checkpoint import Checkpoint
from multitudes.errors import DataError, StoreError
from multitudes.files.disk import Disk, on
from multitudes.store import load, save
from multitudes.tagger.reports.card import CardEvent, ModelCard

from .numbered_model import number_of, numbered

pytestmark = pytest.mark.skipif(os.name == "nt", reason="fork and SIGKILL are POSIX")


@dataclass(frozen=True)
class Way:
    """A way to write: what is there before, what is written, and what a reader finds."""

    write: Callable[[Path, int], None]
    read: Callable[[Path], object]
    over: bool = True


def write_file(place: Path, number: int) -> None:
    with open_write(place / "out.txt.gz") as file:
        for part in range(3):
            file.write(b"%d" % (number + part) * 200_000)


def read_file(place: Path) -> object:
    path = place / "out.txt.gz"
    return path.read_bytes() if path.exists() else None


def write_pair(place: Path, number: int) -> None:
    ones = np.ones((3, number), np.float32)
    write_dataset(Dataset(X=sp.csr_array(ones), Y=sp.csr_array(ones)), place / "pair")


def read_pair(place: Path) -> object:
    if not (place / "pair" / "trn.X.npz").exists() and not list(place.rglob("*commit*")):
        return None
    found = read_dataset(place / "pair")
    assert found.X is not None
    return (found.X.toarray().tolist(), found.Y.toarray().tolist())


def read_model(place: Path) -> object:
    return number_of(load(place / "model", verify=True)) if (place / "model").exists() else None


def write_card(place: Path, number: int) -> None:
    if not (place / "model").exists():
        save(numbered(1), place / "model")
    event = CardEvent("train", str(number), date="today")
    ModelCard((event,)).write(place / "model")


def read_card(place: Path) -> object:
    card = ModelCard.read(place / "model")
    return None if card is None else card.events[0].command


def clear_checkpoint(place: Path, number: int) -> None:
    if number == 2:
        Checkpoint(place / "run").clear()
    else:
        save(numbered(number), place / "run" / "checkpoint")


def read_checkpoint(place: Path) -> object:
    path = place / "run" / "checkpoint"
    return number_of(load(path, verify=True)) if path.exists() else None


WAYS = {
    "first save": Way(lambda p, n: save(numbered(n), p / "model"), read_model, over=False),
    "save over": Way(lambda p, n: save(numbered(n), p / "model"), read_model),
    "first file": Way(write_file, read_file, over=False),
    "file over": Way(write_file, read_file),
    "pair over": Way(write_pair, read_pair),
    "card over": Way(write_card, read_card),
    "checkpoint goes": Way(clear_checkpoint, read_checkpoint),
}


class QuickDisk(CountingDisk):
    """Waits for no platter: nothing here has to live through a power cut."""

    def sync(self, handle: int) -> None:
        self.point("sync", lambda: None)


class Quick(SignallingDisk, QuickDisk): ...


class QuickRefusing(RefusingDisk, QuickDisk): ...


@pytest.fixture(params=list(WAYS))
def way(request) -> Way:
    return WAYS[request.param]


def begin(way: Way, place: Path) -> object:
    """Put the old state there, and return it."""
    place.mkdir()
    if way.over:
        with on(QuickDisk()):
            way.write(place, 1)
    return way.read(place)


def undisturbed(way: Way, place: Path) -> tuple[object, list[str]]:
    begin(way, place)
    disk = QuickDisk()
    with on(disk):
        way.write(place, 2)
    return way.read(place), disk.calls


def killed(way: Way, place: Path, disk: Disk) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            with on(disk):
                way.write(place, 2)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def hidden(place: Path) -> list[str]:
    return [str(path) for path in place.rglob(".*")]


def test_a_kill_at_any_call_leaves_old_or_new_and_the_next_run_nothing(way, tmp_path):
    new, calls = undisturbed(way, tmp_path / "alone")
    assert hidden(tmp_path / "alone") == []
    found = []
    for point in range(len(calls)):
        place = tmp_path / str(point)
        old = begin(way, place)
        assert old != new
        assert killed(way, place, Quick(point)) == -signal.SIGKILL
        found.append(way.read(place))
        assert found[-1] in (old, new), calls[: point + 1]
        with on(QuickDisk()):
            way.write(place, 2)
        assert way.read(place) == new
        assert hidden(place) == [], calls[: point + 1]
    assert found[0] != new  # both happened, or nothing was tried
    assert found[-1] == new


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_refusal_at_any_call_is_one_sentence_and_nothing_is_lost(way, tmp_path, error):
    new, calls = undisturbed(way, tmp_path / "alone")
    for point in range(len(calls)):
        place = tmp_path / str(point)
        old = begin(way, place)
        refused = None
        with on(QuickRefusing(point, error)):
            try:
                way.write(place, 2)
            except (StoreError, DataError) as refusal:
                refused = refusal
            except OSError as refusal:
                assert way is WAYS["checkpoint goes"]  # called by nobody but ourselves
                refused = refusal
        found = way.read(place)
        assert found in (old, new)
        assert refused is not None or found == new
        assert refused is None or os.strerror(error) in str(refused)
        if error == errno.ENOSPC:
            assert hidden(place) == []
        with on(QuickDisk()):
            way.write(place, 2)
        assert way.read(place) == new
        assert hidden(place) == [], calls[: point + 1]
