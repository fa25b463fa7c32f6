"""Open a folder of pieces: X and Y as memory maps, whole or piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from multitudes.data.pieces.layout import ARRAYS, MANIFEST, Layout, array_path
from multitudes.errors import StoreError
from multitudes.files.arrays import mapped
from multitudes.types import Sparse
from multitudes.validation.sparse import csr_of, owned


@dataclass(frozen=True, eq=False)
class Piece:
    """A range of instances: views of the mapped arrays, nothing is copied."""

    X: Sparse
    Y: Sparse
    start: int
    stop: int


class Pieces(Sequence[Piece]):
    """A data set in a folder; see `multitudes.data.pieces.layout`.

    ``pieces.X`` and ``pieces.Y`` are the whole matrices, memory-mapped: estimators take them as
    they are, and read from disk what they need. ``pieces[i]`` is the i-th piece of both.

    Parameters
    ----------
    folder : path
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        self._layout = layout = Layout.read(self.folder)
        self.bounds = (0, *layout.ends)
        arrays = {name: self._mapped(name, dtype) for name, dtype in ARRAYS.items()}
        ones = np.ones(len(arrays["Y.indices"]), np.float32)
        shapes = ((self.n_instances, layout.n_features), (self.n_instances, layout.n_labels))
        self.X = self._matrix("X", arrays, arrays["X.data"], shapes[0])
        self.Y = self._matrix("Y", arrays, ones, shapes[1])

    @property
    def n_instances(self) -> int:
        """Instances of all pieces."""
        return self.bounds[-1]

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @overload
    def __getitem__(self, index: int) -> Piece: ...
    @overload
    def __getitem__(self, index: slice) -> list[Piece]: ...
    def __getitem__(self, index: int | slice) -> Piece | list[Piece]:
        """Return a piece, or a list of pieces."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        start, stop = self.bounds[index], self.bounds[index + 1]
        return Piece(row_range(self.X, start, stop), row_range(self.Y, start, stop), start, stop)

    def __iter__(self) -> Iterator[Piece]:
        return (self[i] for i in range(len(self)))

    def _mapped(self, name: str, dtype: str) -> npt.NDArray[Any]:
        array = mapped(array_path(self.folder, name))
        if array.dtype != dtype or array.ndim != 1:
            raise StoreError(f"{array_path(self.folder, name)} is not an array of {dtype}")
        return array

    def _matrix(
        self,
        name: str,
        arrays: dict[str, npt.NDArray[Any]],
        values: npt.NDArray[Any],
        shape: tuple[int, int],
    ) -> Sparse:
        """Return a matrix over mapped arrays; whoever reads it by its indices checks these."""
        indptr, indices = arrays[f"{name}.indptr"], arrays[f"{name}.indices"]
        fits = len(indptr) == shape[0] + 1 and int(indptr[-1]) == len(indices) == len(values)
        if not fits:
            raise StoreError(
                f"{self.folder}: the arrays of {name} do not fit each other: write the pieces again"
            )
        return owned(csr_of(values, indices, indptr, shape))


def row_range(matrix: Sparse, start: int, stop: int) -> Sparse:
    """Return some rows of a CSR matrix as views of its arrays."""
    indptr = matrix.indptr[start : stop + 1]
    values = slice(int(indptr[0]), int(indptr[-1]))
    shape = (stop - start, int(matrix.shape[1]))
    rows = (matrix.data[values], matrix.indices[values], indptr - indptr[0])
    return owned(csr_of(*rows, shape))


def open_pieces(folder: str | PathLike[str]) -> Pieces:
    """Open a folder that `PieceWriter` or `write_pieces` wrote.

    Raises
    ------
    StoreError
        If it is not such a folder, unfinished or damaged.
    """
    return Pieces(folder)


def is_pieces(folder: str | PathLike[str]) -> bool:
    """Return whether a path is a finished folder of pieces."""
    return (Path(folder) / MANIFEST).is_file()
