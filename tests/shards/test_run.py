"""A run's pieces: those that follow from others, and those that are finished already."""

import numpy as np
import pytest

from multitudes.engine import LocalCluster
from multitudes.shards.run import Piece, Run, Stage


def note(run, shared, item):
    """A piece that says what it was made of."""
    return {"item": np.array([item])}


STAGE = Stage("tree", "growing", note)


def below(number):
    """A tree of seven pieces: 2 i + 1 and 2 i + 2 are below i."""
    return [
        Piece(child, 10 * child, 1.0) for child in (2 * number + 1, 2 * number + 2) if child < 7
    ]


@pytest.mark.parametrize("threads", [1, 3])
def test_pieces_follow_from_others_and_what_is_finished_stays(tmp_path, threads):
    run = Run.open(tmp_path / "run", {"data": 1})
    for finished in (0, 2, 5):
        run.write(STAGE.name, finished, {"item": np.array([-1])})
    computed = run.grow(LocalCluster(threads), STAGE, None, [Piece(0, 0, 1.0)], below)
    assert sorted(one.number for one in computed) == [1, 3, 4, 6]
    made = [int(run.read(STAGE.name, number)["item"][0]) for number in range(7)]
    assert made == [-1, 10, -1, 30, 40, -1, 60]
    assert run.grow(LocalCluster(threads), STAGE, None, [Piece(0, 0, 1.0)], below) == []


def test_finished_pieces_are_told_of_once_each(tmp_path):
    run = Run.open(tmp_path / "run", {"data": 1})
    run.write(STAGE.name, 1, {"item": np.array([-1])})
    told = []
    run.map(LocalCluster(2), STAGE, None, [5, 6, 7], costs=[1.0] * 3, finished=told.append)
    assert sorted(told) == [0, 1, 2]
