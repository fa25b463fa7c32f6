"""The two kinds of file in a model: arrays as safetensors, strings as JSON lines.

The safetensors numpy reader copies what it reads. Arrays are memory-mapped instead: pages come in
when they are touched, and processes that serve the same model share them. What a mapped header says
is checked against the file's size before any array is made from it. Strings are written one JSON
string a line, so that a person can read them.
"""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

from multitudes.errors import StoreError
from multitudes.files.disk import new_file
from multitudes.memory import ask
from multitudes.store import strict_json
from multitudes.store.opening import open_file, read_piece
from multitudes.store.strict_json import MAX_BYTES

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
# As that library orders arrays in a file: large numbers first, so that all are aligned.
_ORDER = (
    "uint64", "int64", "float64", "float32", "uint32", "int32", "float16", "uint16", "int16",
    "int8", "uint8", "bool",
)  # fmt: skip
_STRING_BYTES = 60  # what Python adds to each string
_SUPPORTED = {dtype.name for dtype in DTYPES.values()}


def damaged(path: Path, problem: str) -> StoreError:
    """Return a StoreError that names the file, what is wrong with it, and what to do."""
    return StoreError(f"{path} is damaged: {problem}; save the model again or restore a copy")


def check_dtype(name: str, array: AnyArray) -> None:
    """Refuse an array the format has no dtype for."""
    if array.dtype.name not in _SUPPORTED:
        raise StoreError(
            f"array {name!r} has dtype {array.dtype}, which cannot be stored: "
            f"use one of {', '.join(sorted(_SUPPORTED))}"
        )


def write_arrays(path: Path, arrays: Mapping[str, AnyArray]) -> None:
    """Write arrays to one safetensors file."""
    with new_file(path) as file:
        dump_arrays(file, [arrays])


def dump_arrays(file: BinaryIO, parts: Sequence[Mapping[str, AnyArray]]) -> None:
    """Write arrays in the safetensors format, byte for byte as that library does.

    It would write by itself, past `multitudes.files`, and not say why a disk refuses.

    Parameters
    ----------
    parts : sequence of mappings of name to array
        Each array of the file is the arrays of that name, one after the other, in the smallest
        dtype that holds all of them. They are never all in memory at once.
    """
    dtypes = {name: np.result_type(*(part[name].dtype for part in parts)) for name in parts[0]}
    names = sorted(dtypes, key=lambda name: (_ORDER.index(dtypes[name].name), name))
    header, end = {}, 0
    for name in names:
        shapes = [part[name].shape for part in parts]
        shape = shapes[0] if len(parts) == 1 else (sum(own[0] for own in shapes), *shapes[0][1:])
        begin, end = end, end + math.prod(shape) * dtypes[name].itemsize
        kind = next(kind for kind, dtype in DTYPES.items() if dtype.name == dtypes[name].name)
        header[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # arrays begin at a multiple of 8
    file.write(len(text).to_bytes(8, "little") + text)
    for name in names:
        for part in parts:
            ready = np.ascontiguousarray(part[name], dtypes[name].newbyteorder("<"))
            file.write(ready.reshape(-1).view(np.uint8).data)


def map_arrays(path: Path) -> dict[str, AnyArray]:
    """Memory-map every array of a safetensors file, read-only, without a copy.

    Whoever cuts the file while arrays are in use ends this process (SIGBUS): the operating system
    gives no other answer. `arrays_of` takes the content in memory.

    Raises
    ------
    StoreError
        If the header is missing or invalid, or disagrees with the size of the file.
    """
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        # Read, not taken from the map, so that a file that is cut by now is an error.
        entries, start = _layout(lambda n: read_piece(file, path, n), size, path)
        if size == start:
            body: AnyArray = np.empty(0, np.uint8)
        else:
            # A plain ndarray over the map: np.memmap's own class slows every later slice.
            body = np.asarray(np.memmap(file, np.uint8, mode="r", shape=(size,)))[start:]
    return _cut(body, entries, path)


def arrays_of(content: npt.NDArray[np.uint8], path: Path) -> dict[str, AnyArray]:
    """Return the arrays of a safetensors file that is in memory; `path` is for messages."""
    stream = io.BytesIO(content[: 8 + MAX_BYTES].tobytes())
    entries, start = _layout(stream.read, len(content), path)
    return _cut(content[start:], entries, path)


@dataclass(frozen=True)
class _Entry:
    """Where one array lies, and how it is to be read."""

    begin: int
    end: int
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def _cut(body: AnyArray, entries: list[_Entry], path: Path) -> dict[str, AnyArray]:
    """Return views of the arrays, which must lie side by side and fill the file."""
    arrays = {}
    end_of_previous = 0
    for entry in sorted(entries, key=lambda entry: (entry.begin, entry.end)):
        if entry.begin != end_of_previous or entry.end > len(body):
            place = f"{entry.begin}-{entry.end} of {len(body)}"
            raise damaged(path, f"array {entry.name!r} lies at bytes {place}")
        arrays[entry.name] = _view(body[entry.begin : entry.end], entry, path)
        end_of_previous = entry.end
    if end_of_previous != len(body):
        raise damaged(path, f"{len(body) - end_of_previous} bytes belong to no array")
    return arrays


def _view(data: AnyArray, entry: _Entry, path: Path) -> AnyArray:
    if data.ctypes.data % entry.dtype.itemsize:
        data = data.copy()  # written by another tool without padding; kernels need alignment
    try:
        array: AnyArray = data.view(entry.dtype).reshape(entry.shape)
    except (ValueError, OverflowError) as error:  # too many dimensions, or an empty one of 2**70
        raise damaged(path, f"array {entry.name!r} cannot have shape {entry.shape}") from error
    array.flags.writeable = False
    return array


def _layout(read: Callable[[int], bytes], size: int, path: Path) -> tuple[list[_Entry], int]:
    """Return the arrays that a header describes, checked one by one, and where its data starts."""
    length = int.from_bytes(read(8), "little")
    if size < 8 or length > size - 8:
        raise damaged(path, f"its header claims {length} bytes, the file has {size}")
    if length > MAX_BYTES:
        raise damaged(path, f"its header has {length:,} bytes, allowed are {MAX_BYTES:,}")
    try:
        header = strict_json.parse(read(length))
    except ValueError as error:
        raise damaged(path, f"its header is not JSON ({error})") from error
    if not isinstance(header, dict):
        raise damaged(path, "its header is not a JSON object")
    header.pop("__metadata__", None)
    return [_entry(path, name, entry) for name, entry in header.items()], 8 + length


def _entry(path: Path, name: str, entry: Any) -> _Entry:
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
    return _Entry(begin, end, name, dtype, shape)


def write_strings(path: Path, strings: Sequence[str]) -> None:
    """Write one JSON string a line; newlines inside a string are escaped by JSON."""
    import orjson  # imported here because models without strings do not need it

    with new_file(path) as file:
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

    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if expected > size:  # a string takes three bytes at least
            raise damaged(path, f"it has {size} bytes for {expected} strings")
        ask(4 * size + _STRING_BYTES * expected, f"{path}: {expected:,} strings")
        content = read_piece(file, path, size)
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
