"""Files of another library's model: read without running anything, checked, named in errors."""

from __future__ import annotations

import json
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.errors import StoreError

# What numpy, scipy and zipfile are known to raise on a damaged file.
_DAMAGE = (
    ValueError, LookupError, TypeError, AttributeError, OSError, EOFError, RuntimeError,
    MemoryError, ArithmeticError, SyntaxError, zipfile.BadZipFile, zlib.error, struct.error,
    tokenize.TokenError,
)  # fmt: skip
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
        stored: Any = sp.load_npz(path)  # refuses pickled objects by itself
        if stored.dtype.kind not in "biuf":
            raise ValueError(f"expected real numbers, got {stored.dtype}")
        if stored.format in ("csr", "csc"):
            stored.check_format(full_check=True)  # before anything walks along its indices
        with np.errstate(over="ignore"):
            matrix: sp.csc_array[Any] = sp.csc_array(stored, dtype=np.float32)
        matrix.check_format(full_check=True)
        matrix.sum_duplicates()
    except _DAMAGE as error:
        reason = str(error) or type(error).__name__
        raise StoreError(
            f"{path} is not a sparse matrix of scipy.sparse.save_npz ({reason}): {COPY_AGAIN}"
        ) from error
    if not np.isfinite(matrix.data).all():
        raise StoreError(f"{path} holds values that are not finite: {COPY_AGAIN}")
    return matrix
