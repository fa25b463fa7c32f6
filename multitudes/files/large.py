"""Large arrays: in memory, or on the scratch disk where a limit of memory is set.

Under `multitudes.memory.limited` (or ``MULTITUDES_MAX_MEMORY``), arrays of more than a 64th part of
the limit stay in memory as long as they take a quarter of it together. Further ones lie in files of
the system's temporary folder and are mapped into memory: the system keeps of them what fits, and
kernels do not see a difference. The files have no name, so that nothing is left behind however the
process ends, and all their room is taken at once, so that a full disk is an error and not a crash.
"""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes import memory
from multitudes.errors import ResourceError

SHARE = 64  # an array is large if it takes more than this part of the limit
IN_MEMORY = 0.25  # of the limit: what large arrays may take of it before the next go to disk
SMALLEST = 1 << 16  # bytes that are never worth a file
SLAB = 1 << 25  # bytes of a shelf that are taken at once; C libraries give such blocks back
_MEMORY_DISKS = ("tmpfs", "ramfs")
_taken: list[int] = []  # the bytes of each large array in memory


def spilled_from() -> int | None:
    """Return the bytes from which an array lies on disk; None without a limit."""
    limit = memory.chosen()
    return None if limit is None else max(limit // SHARE, SMALLEST)


def new_array(n: int, dtype: npt.DTypeLike, *, zeros: bool = False) -> npt.NDArray[Any]:
    """Return a one-dimensional array of zeros, or of anything, to be written."""
    dtype = np.dtype(dtype)
    n_bytes = int(n) * dtype.itemsize
    least = spilled_from()
    if least is not None and n_bytes >= least and not _has_room(n_bytes):
        return np.frombuffer(_scratch_map(n_bytes), dtype, n)
    array: npt.NDArray[Any] = np.zeros(n, dtype) if zeros else np.empty(n, dtype)
    if least is not None and n_bytes >= least:
        _taken.append(n_bytes)
        weakref.finalize(array, _taken.remove, n_bytes)  # views keep it alive
    return array


def _has_room(n_bytes: int) -> bool:
    """Return whether an array fits into the part of the limit that large ones may take."""
    return sum(_taken) + n_bytes <= IN_MEMORY * (memory.chosen() or 0)


def joined(parts: Sequence[npt.NDArray[Any]], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return one-dimensional arrays end to end, like `np.concatenate`."""
    out = new_array(sum(len(part) for part in parts), dtype)
    at = 0
    for part in parts:
        out[at : at + len(part)] = part
        at += len(part)
    return out


class Shelf:
    """Keeps many small arrays until they are joined, side by side in a few large ones.

    These go back to the system as one when the arrays are dropped, where small ones would leave
    holes; and under a limit they lie on disk. Threads may put arrays down at the same time.
    """

    def __init__(self) -> None:
        self._slab = max(SLAB, spilled_from() or 0)
        self._free = np.empty(0, np.uint8)
        self._lock = threading.Lock()

    def kept(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return an equal array that lies here."""
        n_bytes = -(-array.nbytes // 8) * 8  # the next one must be aligned
        with self._lock:
            if n_bytes > len(self._free):
                self._free = new_array(max(self._slab, n_bytes), np.uint8)
            room, self._free = self._free[: array.nbytes], self._free[n_bytes:]
        copy: npt.NDArray[Any] = room.view(array.dtype)
        copy[:] = array
        return copy


def _scratch_map(n_bytes: int) -> mmap.mmap:
    """Return a new file of zeros, without a name, mapped into memory."""
    folder = Path(tempfile.gettempdir())
    _check_disk(folder)
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            _take_room(file.fileno(), n_bytes)
            return mmap.mmap(file.fileno(), n_bytes)
    except OSError as error:
        raise ResourceError(
            f"{memory.shown(n_bytes)} of scratch files do not fit into {folder} "
            f"({error.strerror or error}): set TMPDIR to a folder with more room, or raise the "
            "limit of memory"
        ) from error


def _take_room(handle: int, n_bytes: int) -> None:
    """Reserve the whole file: a mapped file that the disk has no room for kills the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, n_bytes)
        return
    zeros = bytes(1 << 20)
    for start in range(0, n_bytes, len(zeros)):
        if os.write(handle, zeros[: n_bytes - start]) < min(len(zeros), n_bytes - start):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _check_disk(folder: Path) -> None:
    """Refuse a temporary folder that is itself memory."""
    kind = _file_system(folder)
    if kind in _MEMORY_DISKS:
        raise ResourceError(
            f"the temporary folder {folder} lies in memory ({kind}), so that a limit of memory "
            "cannot put anything there: set TMPDIR to a folder on a disk"
        )


def _file_system(folder: Path) -> str:
    """Return the kind of file system of a folder, as far as the system says."""
    try:
        lines = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
        place = folder.resolve()
    except OSError:
        return ""
    mounts = [line.split(" ")[1:3] for line in lines if line.count(" ") > 2]
    around = [(len(at), kind) for at, kind in mounts if place.is_relative_to(at)]
    return max(around, default=(0, ""))[1]
