"""The two kinds of file in a model: arrays as safetensors, strings as JSON lines.

The safetensors numpy reader copies what it reads. Arrays are memory-mapped instead: pages come in
when they are touched, and processes that serve the same model share them. What a mapped header says
is checked against the file's size before any array is made from it. Strings are written one JSON
string a line, so that a person can read them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from multitudes.errors import StoreError

AnyArray: TypeAlias = npt.NDArray[Any]

# The dtypes of the safetensors format that numpy has, by their names in a file's header.
DTYPES: dict[str, np.dtype[Any]] = {
    "BOOL": np.dtype(np.bool_),
    "U8": np.dtype(np.uint8),
    "I8": np.dtype(np.int8),
    "U16": np.dtype("<u2"),
    "I16": np.dtype("<i2"),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}
_SUPPORTED = {dtype.name for dtype in DTYPES.values()}
MAX_HEADER_BYTES = 100_000_000  # the limit of the safetensors format itself


def damaged(path: Path, problem: str) -> StoreError:
    """Return a StoreError that names the file, what is wrong with it, and what to do."""
    return StoreError(f"{path} is damaged: {problem}; save the model again or restore a copy")


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_dtype(name: str, array: AnyArray) -> None:
    """Refuse an array the format has no dtype for."""
    if array.dtype.name not in _SUPPORTED:
        raise StoreError(
            f"array {name!r} has dtype {array.dtype}, which cannot be stored: "
            f"use one of {', '.join(sorted(_SUPPORTED))}"
        )


def write_arrays(path: Path, arrays: Mapping[str, AnyArray]) -> None:
    """Write arrays to one safetensors file."""
    from safetensors.numpy import save_file

    # The library reads raw memory: what it is handed must be contiguous and stay alive.
    ready = {
        name: np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
        for name, array in arrays.items()
    }
    save_file(ready, path)


def map_arrays(path: Path) -> dict[str, AnyArray]:
    """Memory-map every array of a safetensors file, read-only, without a copy.

    Raises
    ------
    StoreError
        If the header is missing or invalid, or disagrees with the size of the file.
    """
    size = path.stat().st_size
    header, start = _read_header(path, size)
    if size == start:
        body: AnyArray = np.empty(0, np.uint8)
    else:
        # A plain ndarray over the map: np.memmap's own class slows every later slice.
        body = np.asarray(np.memmap(path, np.uint8, mode="r", offset=0))[start:]
    arrays = {}
    end_of_previous = 0
    for name, dtype, shape, begin, end in sorted(_entries(path, header), key=lambda e: e[3:]):
        if begin != end_of_previous or end > len(body):
            raise damaged(path, f"array {name!r} lies at bytes {begin}-{end} of {len(body)}")
        arrays[name] = _view(body[begin:end], dtype, shape)
        end_of_previous = end
    if end_of_previous != len(body):
        raise damaged(path, f"{len(body) - end_of_previous} bytes belong to no array")
    return arrays


def _view(data: AnyArray, dtype: np.dtype[Any], shape: tuple[int, ...]) -> AnyArray:
    if data.ctypes.data % dtype.itemsize:
        data = data.copy()  # written by another tool without padding; kernels need alignment
    array: AnyArray = data.view(dtype).reshape(shape)
    array.flags.writeable = False
    return array


def _read_header(path: Path, size: int) -> tuple[dict[str, Any], int]:
    """Return the parsed header of a safetensors file and where its data starts."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, MAX_HEADER_BYTES):
            raise damaged(path, f"its header claims {length} bytes, the file has {size}")
        try:
            header = json.loads(file.read(length))
        except (ValueError, RecursionError) as error:
            raise damaged(path, "its header is not JSON") from error
    if not isinstance(header, dict):
        raise damaged(path, "its header is not a JSON object")
    header.pop("__metadata__", None)
    return header, 8 + length


def _entries(
    path: Path, header: dict[str, Any]
) -> list[tuple[str, np.dtype[Any], tuple[int, ...], int, int]]:
    """Return (name, dtype, shape, begin, end) of each array, checked one by one."""
    entries = []
    for name, entry in header.items():
        try:
            dtype = DTYPES[entry["dtype"]]
            shape = tuple(entry["shape"])
            begin, end = entry["data_offsets"]
        except (KeyError, TypeError, ValueError) as error:
            raise damaged(path, f"its header describes array {name!r} wrongly") from error
        if not all(type(n) is int and n >= 0 for n in (*shape, begin, end)):
            raise damaged(path, f"array {name!r} has a negative or fractional size")
        n_bytes = dtype.itemsize
        for n in shape:  # Python integers: a huge shape must not overflow into a plausible size
            n_bytes *= n
        if end - begin != n_bytes:
            raise damaged(
                path, f"array {name!r} of shape {shape} needs {n_bytes} bytes, has {end - begin}"
            )
        entries.append((name, dtype, shape, begin, end))
    return entries


def write_strings(path: Path, strings: Sequence[str]) -> None:
    """Write one JSON string a line; newlines inside a string are escaped by JSON."""
    import orjson  # imported here because models without strings do not need it

    with path.open("wb") as file:
        for number, string in enumerate(strings):
            if not isinstance(string, str):
                raise StoreError(
                    f"{path.stem}[{number}] must be a str, got {string!r}: "
                    "convert it before the model is saved"
                )
            try:
                file.write(orjson.dumps(string) + b"\n")
            except TypeError as error:  # half of a surrogate pair, which UTF-8 cannot hold
                raise StoreError(
                    f"{path.stem}[{number}] is not valid Unicode: {string!r}; "
                    "clean the text the model was fitted on"
                ) from error


def read_strings(path: Path, expected: int) -> list[str]:
    """Read a list of `expected` strings."""
    import orjson

    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        raise damaged(path, "its last line is cut off")
    try:
        # One parse of the whole list is several times as fast as one per line.
        strings = orjson.loads(b"[" + b",".join(content.split(b"\n")[:-1]) + b"]")
    except orjson.JSONDecodeError as error:
        raise damaged(path, "a line is not a JSON string") from error
    if len(strings) != expected or content.count(b"\n") != expected:
        raise damaged(path, f"it has {len(strings)} strings, the manifest says {expected}")
    if not all(type(string) is str for string in strings):
        raise damaged(path, "a line is not a JSON string")
    return list(strings)
