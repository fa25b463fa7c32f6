"""Folders of pieces: what is written comes back, whatever the pieces; nothing half stays."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.data.pieces import PieceWriter, is_pieces, open_pieces, write_pieces
from multitudes.errors import ConfigError, StoreError
from multitudes.files import disk
from multitudes.files.arrays import ArrayFile, mapped


def problem(n: int = 23) -> tuple[Any, Any]:
    """Rows and labels, of which some are empty."""
    rng = np.random.default_rng(0)
    X = sp.random_array((n, 40), density=0.1, rng=rng, format="csr", dtype=np.float32)
    Y = sp.csr_array((rng.random((n, 9)) < 0.2).astype(np.float32))
    return X, Y


def same(a: Any, b: Any) -> bool:
    """Whether two matrices are the same, shape and types of values included."""
    return a.shape == b.shape and a.dtype == b.dtype and (a != b).nnz == 0


@pytest.mark.parametrize("piece_size", [1, 5, 23, 100])
def test_what_is_written_comes_back_whole_and_in_pieces(tmp_path: Path, piece_size: int) -> None:
    X, Y = problem()
    pieces = write_pieces(tmp_path / "pieces", X, Y, piece_size=piece_size)
    assert is_pieces(tmp_path / "pieces")
    assert same(pieces.X, X)
    assert same(pieces.Y, Y)
    assert len(pieces) == -(-23 // piece_size)
    assert [piece.start for piece in pieces] == list(range(0, 23, piece_size))
    assert same(sp.vstack([piece.X for piece in pieces], format="csr"), X)
    assert same(sp.vstack([piece.Y for piece in pieces], format="csr"), Y)
    assert same(pieces[-1].X, X[pieces[-1].start :])
    assert [piece.stop for piece in pieces[:2]] == [piece.stop for piece in pieces][:2]


def test_pieces_are_views_of_the_files(tmp_path: Path) -> None:
    pieces = write_pieces(tmp_path / "pieces", *problem(), piece_size=7)
    for part in ("indices", "data"):
        assert np.shares_memory(getattr(pieces[1].X, part), getattr(pieces.X, part))
    pieces.X.data[:] = 5  # private: the file keeps what it holds
    assert same(open_pieces(tmp_path / "pieces").X, problem()[0])


def test_pieces_may_grow_wider_and_be_empty(tmp_path: Path) -> None:
    X, Y = problem()
    with PieceWriter(tmp_path / "grown") as writer:
        writer.append(X[:4, :10], Y[:4, :3])
        writer.append(X[:0], Y[:0])
        writer.append(X[4:], Y[4:])
    pieces = open_pieces(tmp_path / "grown")
    assert pieces.X.shape == X.shape
    assert pieces.Y.shape == Y.shape
    assert same(pieces[2].X, X[4:])
    assert pieces[1].X.shape == (0, 40)
    with PieceWriter(tmp_path / "none", n_features=3, n_labels=2):
        pass
    assert open_pieces(tmp_path / "none").X.shape == (0, 3)


def test_an_error_leaves_nothing_behind(tmp_path: Path) -> None:
    X, Y = problem()

    def interrupted() -> None:
        with PieceWriter(tmp_path / "p") as writer:
            writer.append(X, Y)
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        interrupted()
    assert list(tmp_path.iterdir()) == []


class FullDisk(disk.Disk):
    """A disk with room for some writes."""

    def __init__(self, room: int) -> None:
        self.room = room

    def write(self, handle: int, data: Any) -> int:
        self.room -= 1
        if self.room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(handle, data)


@pytest.mark.parametrize("room", range(6))
def test_a_full_disk_is_said_and_leaves_nothing_behind(tmp_path: Path, room: int) -> None:
    X, Y = problem()
    with (
        disk.on(FullDisk(room)),
        pytest.raises(StoreError, match="No space left.*a disk with room"),
    ):
        write_pieces(tmp_path / "p", X, Y)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_folder_of_pieces_is_refused(tmp_path: Path) -> None:
    X, Y = problem()
    with pytest.raises(StoreError, match="no pieces.json"):
        open_pieces(tmp_path)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StoreError, match="not empty"):
        write_pieces(tmp_path, X, Y)
    with pytest.raises(ConfigError, match="piece_size must be an int >= 1, got 0"):
        write_pieces(tmp_path / "p", X, Y, piece_size=0)
    write_pieces(tmp_path / "p", X, Y)
    manifest = tmp_path / "p" / "pieces.json"
    about = json.loads(manifest.read_text())
    for wrong in ({"ends": [5, 3]}, {"ends": [5]}, {"n_labels": -1}, {"version": 99}, {"ends": 5}):
        manifest.write_text(json.dumps({**about, **wrong}))
        with pytest.raises(StoreError, match=r"pieces|fit"):
            open_pieces(tmp_path / "p")
    manifest.write_text(json.dumps(about))
    (tmp_path / "p" / "X.data.npy").write_bytes(b"broken")
    with pytest.raises(StoreError, match="write it again"):
        open_pieces(tmp_path / "p")


def test_array_files_grow(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    with ArrayFile(path, "int32") as file:
        file.append([])
        file.append([1, 2])
        file.append(np.arange(100_000))
        assert not path.exists()
    assert np.array_equal(mapped(path), [1, 2, *range(100_000)])
    assert mapped(path).dtype == np.int32
    with ArrayFile(path, "int32"):
        pass
    assert mapped(path).shape == (0,)
