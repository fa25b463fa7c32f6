"""Arrays of an ``.npz`` archive: what each declares is known before a byte of it is unpacked.

The header of an array says its type and shape, the archive says its size. Neither is believed
before it agrees with the other, nor is memory taken before it was asked for.
"""

from __future__ import annotations

import math
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from multitudes.data.compression import open_bytes
from multitudes.errors import DataError

CHUNK_BYTES = 1 << 20
_MAGIC = b"\x93NUMPY"
_MAX_HEADER = 10_000  # bytes, as in numpy
_MOST_INFLATED = 1100  # bytes that one byte of the archive can become
_HEADER = re.compile(
    r"\{\s*'descr':\s*'([<>|=]?[a-zA-Z][0-9]{0,9})',\s*'fortran_order':\s*(True|False),\s*"
    r"'shape':\s*\(([0-9, L]{0,200})\),?\s*\}\s*",
    re.ASCII,
)
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, KeyError, NotImplementedError,
    RuntimeError, TypeError, OverflowError,
)  # fmt: skip


@dataclass(frozen=True)
class Member:
    """An array of the archive, not read yet."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    start: int

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)


class Members:
    """The arrays of an open archive; a ValueError says what is wrong with one."""

    def __init__(self, archive: zipfile.ZipFile, n_bytes: int) -> None:
        self._archive = archive
        self._infos: dict[str, zipfile.ZipInfo] = {}
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name in self._infos:
                raise ValueError(f"it holds {name!r} twice")
            if info.compress_type not in _METHODS or info.flag_bits & 1:
                raise ValueError(f"{name!r} is encrypted, or compressed in an unusual way")
            if info.file_size > _MOST_INFLATED * min(info.compress_size, n_bytes) + CHUNK_BYTES:
                raise ValueError(f"{name!r} announces {info.file_size:,} bytes, and has fewer")
            self._infos[name] = info

    def __contains__(self, name: str) -> bool:
        return name in self._infos

    def member(self, name: str) -> Member:
        """Return what an array declares about itself."""
        if name not in self._infos:
            raise ValueError(f"it holds no array {name!r}")
        info = self._infos[name]
        with self._archive.open(info) as stream:
            dtype, shape, fortran, start = _header(stream, name)
        member = Member(name, dtype, shape, fortran, start)
        if start + member.size * dtype.itemsize != info.file_size:
            raise ValueError(
                f"{name!r} declares {' x '.join(f'{n:,}' for n in shape) or 'one'} of {dtype}, "
                f"and holds {info.file_size - start:,} bytes"
            )
        return member

    def inflation(self, member: Member) -> float:
        """Return how many bytes of an array one byte of the archive stands for."""
        info = self._infos[member.name]
        return info.file_size / max(1, info.compress_size)

    def chunks(self, member: Member) -> Iterator[npt.NDArray[Any]]:
        """Yield the numbers of an array in pieces, in the order they are stored."""
        itemsize = max(1, member.dtype.itemsize)
        with self._archive.open(self._infos[member.name]) as stream:
            stream.read(member.start)
            left = member.size * itemsize
            while left:
                wanted = min(left, CHUNK_BYTES // itemsize * itemsize)
                data = stream.read(wanted)
                while len(data) < wanted:
                    more = stream.read(wanted - len(data))
                    if not more:
                        raise ValueError(f"{member.name!r} ends early")
                    data += more
                yield np.frombuffer(data, member.dtype)
                left -= wanted
            stream.read(1)  # at its end the checksum is compared

    def read(self, member: Member, dtype: Any = None) -> npt.NDArray[Any]:
        """Return a whole array, maybe as another type; the caller has asked for the memory."""
        out = np.empty(member.size, member.dtype if dtype is None else dtype)
        at = 0
        for chunk in self.chunks(member):
            with np.errstate(over="ignore"):  # what is infinite then is found later
                out[at : at + len(chunk)] = chunk
            at += len(chunk)
        return out.reshape(member.shape, order="F" if member.fortran else "C")


def _header(stream: Any, name: str) -> tuple[np.dtype[Any], tuple[int, ...], bool, int]:
    """Return (type, shape, whether columns come first, bytes of the header) of an array."""
    start = stream.read(8)
    wide = start[6:7] in (b"\x02", b"\x03")
    length = int.from_bytes(stream.read(4 if wide else 2), "little")
    if start[:6] != _MAGIC or length > _MAX_HEADER:
        raise ValueError(f"{name!r} is not an array of numpy")
    text = stream.read(length).decode("latin1")
    found = _HEADER.fullmatch(text)
    if found is None:
        raise ValueError(f"{name!r} is not an array of plain numbers")
    kind, fortran, shape = found.groups()
    lengths = tuple(int(part.strip(" L")) for part in shape.split(",") if part.strip(" L"))
    dtype = np.dtype(kind)
    if dtype.hasobject or dtype.itemsize > 1000 or len(lengths) > 3:
        raise ValueError(f"{name!r} is not an array of plain numbers, got {kind!r}")
    return dtype, lengths, fortran == "True", 8 + (4 if wide else 2) + length


@contextmanager
def open_members(path: Path, *, not_one: str) -> Iterator[Members]:
    """Open an archive of arrays; what is wrong with it becomes a DataError.

    Parameters
    ----------
    path : Path
    not_one : str
        What the file then is not, with what to do about it: a reason is put where ``{}`` is.
    """
    with open_bytes(path) as stream:
        try:
            with zipfile.ZipFile(_seekable(stream)) as archive:
                yield Members(archive, path.stat().st_size)
        except DataError:
            raise
        except _DAMAGE as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise DataError(f"{path} {not_one.format(reason)}") from error


def _seekable(stream: BinaryIO) -> BinaryIO:
    if not stream.seekable():
        raise ValueError("it is compressed as a whole, or a pipe")
    return stream
