"""Files of another library's model: read without running anything, checked, named in errors."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from multitudes.data.sparse_files import read_sparse
from multitudes.errors import DataError, StoreError

COPY_AGAIN = "copy the model folder again, or save the model again"


def read_bytes(path: Path) -> bytes:
    """Return the content of a file."""
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise StoreError(f"{path} is missing, the model is not whole: {COPY_AGAIN}") from error
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from error


def read_json(path: Path, expected: type = dict) -> Any:
    """Return the content of a JSON file that holds an object, or another type as `expected`."""
    try:
        content = json.loads(read_bytes(path).decode())
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is not valid JSON ({error}): {COPY_AGAIN}") from error
    if not isinstance(content, expected):
        raise StoreError(
            f"{path} holds a {type(content).__name__}, expected a {expected.__name__}: {COPY_AGAIN}"
        )
    return content


def field(content: dict[str, Any], name: str, expected: type, path: Path) -> Any:
    """Return a field of a JSON file, of the expected type; an int will do for a float."""
    value = content.get(name)
    if expected is float and isinstance(value, int) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):  # then it stays an int, which is refused
            value = float(value)
    if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
        raise StoreError(
            f"{path}: {name!r} must be of type {expected.__name__}, got {value!r}: {COPY_AGAIN}"
        )
    return value


def read_matrix(path: Path) -> sp.csc_array[Any]:
    """Return a matrix of `scipy.sparse.save_npz` as CSC float32: finite, without duplicates."""
    if not path.is_file():
        raise StoreError(f"{path} is missing, the model is not whole: {COPY_AGAIN}")
    try:
        matrix: sp.csc_array[Any] = read_sparse(path, layout="csc", add_duplicates=True)
    except DataError as error:
        raise StoreError(f"{error}; {COPY_AGAIN}") from error
    return matrix
