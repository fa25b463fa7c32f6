"""Arrays in files: written piece by piece, then read where they lie (memory-mapped).

They are plain ``.npy`` files. A file that is still being written says so in its name, and a mapped
array is private to the process: it looks like any other array to kernels, and nothing that is
written to it reaches the file.
"""

from __future__ import annotations

import io
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from multitudes.errors import StoreError
from multitudes.files import disk

_UNFINISHED = ".part"


class ArrayFile:
    """A one-dimensional array that grows on disk; it is at its path once `close` was called.

    Parameters
    ----------
    path : path
        Ends in ``.npy``.
    dtype : numpy type
        What values are stored as.
    """

    def __init__(self, path: Path, dtype: npt.DTypeLike) -> None:
        self.path, self.dtype, self.size = path, np.dtype(dtype), 0
        self._unfinished = path.with_name(path.name + _UNFINISHED)
        self._file = disk.new_file(self._unfinished)
        self._file.write(self._header())

    def append(self, values: npt.ArrayLike) -> None:
        """Write more values behind those that are there."""
        values = np.ascontiguousarray(values, self.dtype)
        self._file.write(values.data.cast("B") if values.size else b"")
        self.size += values.size

    def close(self) -> None:
        """Finish the file."""
        self._file.seek(0)
        self._file.write(self._header())
        self._file.close()
        disk.replace(self._unfinished, self.path)

    def discard(self) -> None:
        """Give up, and leave nothing behind."""
        with suppress(OSError):  # what it still has to write goes nowhere
            self._file.close()
        disk.remove(self._unfinished)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *others: object) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def _header(self) -> bytes:
        """Return the head of the file, which numpy makes so that it may grow in place."""
        header = io.BytesIO()
        about = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.size,)}
        np.lib.format.write_array_header_1_0(header, about)
        return header.getvalue()


def mapped(path: Path) -> npt.NDArray[Any]:
    """Return the array of a ``.npy`` file without reading it.

    Raises
    ------
    StoreError
        If the file is missing, damaged or unfinished.
    """
    try:
        return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))
    except (OSError, ValueError, EOFError) as error:
        raise StoreError(f"{path} cannot be read as an array ({error}): write it again") from error
