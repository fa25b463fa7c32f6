"""Write a data set piece by piece; no more than one piece is ever in memory."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, Self

from multitudes.data.pieces.layout import ARRAYS, MANIFEST, Layout, array_path
from multitudes.data.pieces.reading import Pieces, open_pieces
from multitudes.errors import ConfigError, StoreError
from multitudes.files import disk
from multitudes.files.arrays import ArrayFile
from multitudes.files.writing import replaced_file
from multitudes.stopping import shielded
from multitudes.types import Sparse
from multitudes.validation import checked_features, label_matrix

PIECE = 1 << 16
"""Instances of a piece, where nobody says."""


class PieceWriter:
    """Appends instances to a new folder of pieces; used as a context manager.

    The folder is complete, and can be opened, once the block has ended. If it ends with an error,
    the folder is removed.

    Parameters
    ----------
    folder : path
        New or empty.
    n_features, n_labels : int, optional
        Columns; by default as many as the widest piece has.
    """

    def __init__(
        self, folder: str | PathLike[str], *, n_features: int = 0, n_labels: int = 0
    ) -> None:
        self.folder = Path(folder)
        self.n_features, self.n_labels = n_features, n_labels
        self._ends: list[int] = []
        self._files: dict[str, ArrayFile] = {}

    def __enter__(self) -> Self:
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise StoreError(f"{self.folder} is not empty: write pieces to a new folder")
        try:
            disk.make_folder(self.folder)
            for name, dtype in ARRAYS.items():
                self._files[name] = ArrayFile(array_path(self.folder, name), dtype)
                if name.endswith("indptr"):
                    self._files[name].append([0])
        except BaseException as error:
            self._remove()
            raise self._refusal(error) from error
        return self

    def append(self, X: Any, Y: Any) -> None:
        """Write instances as the next piece.

        Parameters
        ----------
        X : CSR or array (n_instances, n_features)
        Y : CSR or array (n_instances, n_labels)
        """
        X = checked_features(X)
        Y = label_matrix(Y, n_instances=X.shape[0])
        try:
            self._append("X", X)
            self._files["X.data"].append(X.data)
            self._append("Y", Y)
        except OSError as error:
            raise self._refusal(error) from error
        self.n_features = max(self.n_features, X.shape[1])
        self.n_labels = max(self.n_labels, Y.shape[1])
        self._ends.append((self._ends[-1] if self._ends else 0) + X.shape[0])

    def __exit__(self, kind: type[BaseException] | None, *others: object) -> None:
        if kind is not None:
            self._remove()
            return
        try:
            for file in self._files.values():
                file.close()
            with replaced_file(self.folder / MANIFEST) as manifest:
                manifest.write(Layout(self.n_features, self.n_labels, tuple(self._ends)).to_bytes())
        except BaseException as error:
            self._remove()
            raise self._refusal(error) from error

    def _append(self, name: str, matrix: Sparse) -> None:
        before = self._files[f"{name}.indices"].size
        self._files[f"{name}.indptr"].append(matrix.indptr[1:].astype("int64") + before)
        self._files[f"{name}.indices"].append(matrix.indices)

    def _remove(self) -> None:
        with shielded():
            for file in self._files.values():
                file.discard()
            disk.remove(self.folder)

    def _refusal(self, error: BaseException) -> BaseException:
        if not isinstance(error, OSError):
            return error
        return StoreError(
            f"cannot write pieces to {self.folder} ({error.strerror or error}): choose another "
            "folder, on a disk with room for the data"
        )


def write_pieces(folder: str | PathLike[str], X: Any, Y: Any, *, piece_size: int = PIECE) -> Pieces:
    """Write X and Y to a new folder of pieces, and open it.

    Parameters
    ----------
    folder : path
        New or empty.
    X : CSR or array (n_instances, n_features)
    Y : CSR or array (n_instances, n_labels)
    piece_size : int
        Instances of a piece; it changes nothing that is learned.
    """
    if isinstance(piece_size, bool) or not isinstance(piece_size, int) or piece_size < 1:
        raise ConfigError(f"piece_size must be an int >= 1, got {piece_size!r}")
    X = checked_features(X)
    Y = label_matrix(Y, n_instances=X.shape[0])
    with PieceWriter(folder, n_features=X.shape[1], n_labels=Y.shape[1]) as writer:
        for start in range(0, X.shape[0], piece_size):
            rows = slice(start, start + piece_size)
            writer.append(X[rows], Y[rows])
    return open_pieces(folder)
