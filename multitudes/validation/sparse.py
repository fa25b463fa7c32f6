"""From any sparse matrix to rows that kernels and SciPy can trust.

SciPy's conversions trust indices as kernels do, and nothing stops a user from handing in arrays
that do not fit each other, or from changing them in another thread during the call. So what a
matrix holds is checked before anything reads it by its indices, and index arrays that could still
be written by somebody else are copied, in the same pass.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes import memory
from multitudes.errors import DataError, MultitudesError
from multitudes.files.large import new_array
from multitudes.types import Sparse
from multitudes.validation.arrays import is_frozen, is_native
from multitudes.validation.passes import check_rows, first_outside, first_wrong_start

if TYPE_CHECKING:
    from multitudes.kernels.threads import ThreadTeam

MOST_COLUMNS = 2**31 - 1  # kernels count columns in 32 bits
_OWN = "_indices_of_multitudes"  # the attribute that marks a matrix whose indices are ours


class _Arrays(NamedTuple):
    """What a compressed matrix is made of, checked."""

    starts: npt.NDArray[np.int64]
    indices: npt.NDArray[Any]
    values: npt.NDArray[Any]
    in_order: bool  # rows (of CSC: columns) are ascending without repeats


class _Wanted(NamedTuple):
    """What values become and are asked, whether indices must be our own, and who checks them."""

    dtype: Any
    check: Callable[[Any], None] | None
    copy: bool
    team: ThreadTeam | None

    def values(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return values as kernels read them: contiguous, aligned, native, of one type."""
        dtype = values.dtype.newbyteorder("=") if self.dtype is None else np.dtype(self.dtype)
        if dtype.kind == "f" and dtype.itemsize not in (4, 8):  # nor do kernels know others
            dtype = np.dtype(np.float64)
        if values.dtype != dtype or not is_native(values):
            with np.errstate(over="ignore"):  # too large for float32 is infinite: it is refused
                values = values.astype(dtype, order="C")
        if self.check is not None:
            self.check(values)
        return values


def own_csr(
    matrix: Sparse,
    name: str,
    *,
    dtype: Any = None,
    check: Callable[[Any], None] | None = None,
    copy: bool = True,
    team: ThreadTeam | None = None,
) -> Sparse:
    """Return a sparse matrix of any form as sound CSR, whose indices nobody can change.

    Indices are sorted, and values of one place added up. A matrix that came from here is checked
    again, but not copied.

    Parameters
    ----------
    matrix : sparse matrix or array of any format, two-dimensional
    name : str
        What messages call it.
    dtype : numpy type, optional
        What values become before they are added up; by default they stay what they are.
    check : function, optional
        Called with the values before they are added up; it may raise an error.
    copy : bool
        Whether indices that others can write are copied. Without, what comes back must pass here
        again before a kernel reads it.
    team : ThreadTeam, optional
        Whose threads share the work, where it is large.
    """
    try:
        shape = _checked_shape(matrix, name)
        if shape[1] > MOST_COLUMNS:
            raise DataError(f"{name} has {shape[1]:,} columns: {MOST_COLUMNS:,} is the most")
        convert: Callable[..., Sparse] = _CONVERSIONS.get(matrix.format, _from_others)
        csr = convert(matrix, shape, name, _Wanted(dtype, check, copy, team))
    except (MultitudesError, MemoryError):
        raise
    except Exception as error:  # whatever arrays of the wrong kind lead to
        raise DataError(f"{name} is corrupt: {error}") from error
    return _marked(csr) if copy else csr


def with_values(matrix: Sparse, values: npt.NDArray[Any]) -> Sparse:
    """Return a matrix of `own_csr` with other values in the same places."""
    parts: Any = (values, matrix.indices, matrix.indptr)
    csr = sp.csr_array(parts, shape=matrix.shape)
    csr.has_canonical_format = True
    return _marked(csr)


def csr_of(
    values: npt.NDArray[Any], indices: npt.NDArray[Any], indptr: npt.NDArray[Any], shape: Any
) -> Sparse:
    """Return a CSR over sound arrays as they are: SciPy's constructor might copy indices."""
    index_type = np.int32 if len(values) <= MOST_COLUMNS else np.int64
    csr = sp.csr_array(shape, dtype=values.dtype)
    csr.data, csr.indices, csr.indptr = values, indices, indptr.astype(index_type, copy=False)
    return csr


def owned(matrix: Sparse) -> Sparse:
    """Mark a CSR matrix whose indices only this library can write: it is checked, never copied."""
    return _marked(matrix)


def without_zeros(matrix: Sparse) -> Sparse:
    """Return a matrix of `own_csr` without the zeros that it stores."""
    if np.all(matrix.data):
        return matrix
    csr = matrix.copy()
    csr.eliminate_zeros()
    return _marked(csr)


def disowned(matrix: Sparse) -> Sparse:
    """Return a matrix of `own_csr` for a user to keep, who may write to it."""
    delattr(matrix, _OWN)
    return matrix


def shape_and_dtype(matrix: Sparse, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and type of a sparse matrix, which may lack either."""
    try:
        return tuple(matrix.shape), np.dtype(matrix.dtype)
    except Exception as error:
        raise DataError(f"{name} is corrupt: {error}") from error


def _marked(csr: Sparse) -> Sparse:
    setattr(csr, _OWN, (csr.indptr, csr.indices))
    return csr


def _may_stay(matrix: Sparse, wanted: _Wanted) -> bool:
    return type(matrix) is sp.csr_array and (_is_own(matrix) or not wanted.copy)


def _is_own(matrix: Sparse) -> bool:
    indptr, indices = getattr(matrix, _OWN, (None, None))
    return indptr is matrix.indptr and indices is matrix.indices


def _from_csr(matrix: Sparse, shape: tuple[int, int], name: str, wanted: _Wanted) -> Sparse:
    arrays = _checked_arrays(matrix, shape, name, "column", copy=wanted.copy, team=wanted.team)
    values = wanted.values(arrays.values)
    if not arrays.in_order:  # it is sorted, and repeats are added up, in place
        if np.may_share_memory(arrays.indices, matrix.indices):
            arrays = arrays._replace(indices=arrays.indices.copy())
        if np.may_share_memory(values, matrix.data):
            values = values.copy()
    elif _may_stay(matrix, wanted) and arrays.indices is matrix.indices and values is matrix.data:
        matrix.has_canonical_format = True
        return matrix
    return _finished(_csr(arrays, values, shape), in_order=arrays.in_order)


def _from_csc(matrix: Sparse, shape: tuple[int, int], name: str, wanted: _Wanted) -> Sparse:
    _ask_for_rows(shape, name)
    arrays = _checked_arrays(matrix, shape[::-1], name, "row")
    parts: Any = (wanted.values(arrays.values), arrays.indices, arrays.starts)
    csr = sp.csc_array(parts, shape=shape).tocsr()
    return _finished(csr, in_order=arrays.in_order)


def _from_bsr(matrix: Sparse, shape: tuple[int, int], name: str, wanted: _Wanted) -> Sparse:
    blocks = np.asarray(matrix.data)
    height, width = blocks.shape[1:]
    if height < 1 or width < 1 or shape[0] % height or shape[1] % width:
        raise DataError(f"{name} has blocks of {height} x {width} that do not fill it: {shape}")
    _ask_for_rows(shape, name)
    n_blocks = (shape[0] // height, shape[1] // width)
    arrays = _checked_arrays(matrix, n_blocks, name, "block")
    parts: Any = (wanted.values(arrays.values), arrays.indices, arrays.starts)
    return _finished(sp.bsr_array(parts, shape=shape).tocsr(), in_order=False)


def _from_coo(matrix: Sparse, shape: tuple[int, int], name: str, wanted: _Wanted) -> Sparse:
    rows, columns = (_index_array(matrix, field, name) for field in ("row", "col"))
    values = _value_array(matrix, name)
    return _from_triples((rows, columns, values), shape, name, wanted)


def _from_lil(matrix: Sparse, shape: tuple[int, int], name: str, wanted: _Wanted) -> Sparse:
    rows, values = list(matrix.rows), list(matrix.data)
    counts = [len(row) for row in rows]
    if len(rows) != shape[0] or counts != [len(row) for row in values]:
        raise DataError(f"{name} has lists of columns that do not fit its values: it is corrupt")
    columns = np.array(list(itertools.chain.from_iterable(rows)) or [], dtype=np.int64)
    flat = np.array(list(itertools.chain.from_iterable(values)) or [], dtype=matrix.dtype)
    row_of = np.repeat(np.arange(shape[0]), counts)
    return _from_triples((row_of, columns, flat), shape, name, wanted)


def _from_dia(matrix: Sparse, shape: tuple[int, int], name: str, wanted: _Wanted) -> Sparse:
    offsets, values = _index_array(matrix, "offsets", name), np.asarray(matrix.data)
    if values.ndim != 2 or len(values) != len(offsets):
        raise DataError(f"{name} has {len(offsets)} offsets that do not fit its diagonals")
    inside = (offsets > -shape[0]) & (offsets < shape[1])
    offsets, values = offsets[inside].astype(np.int64), values[inside, : shape[1]]
    columns = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    rows = columns - offsets[:, None]
    kept = (rows >= 0) & (rows < shape[0]) & (values != 0)
    return _from_triples((rows[kept], columns[kept], values[kept]), shape, name, wanted)


def _from_others(matrix: Sparse, shape: tuple[int, int], name: str, wanted: _Wanted) -> Sparse:
    """Dictionaries of keys, and what other packages derive; their triples are checked."""
    return _from_coo(matrix.tocoo(), shape, name, wanted)


def _from_triples(
    triples: tuple[Any, Any, Any], shape: tuple[int, int], name: str, wanted: _Wanted
) -> Sparse:
    rows, columns, values = triples
    if not len(rows) == len(columns) == len(values):
        raise DataError(
            f"{name} has {len(rows):,} rows, {len(columns):,} columns and {len(values):,} values "
            "of its entries: it is corrupt"
        )
    _ask_for_rows(shape, name)
    places = []
    for given, size, axis in ((rows, shape[0], "row"), (columns, shape[1], "column")):
        own = np.array(given)  # a copy: what is checked is what is used
        at = first_outside(own, 0, size)
        if at >= 0:
            raise DataError(_outside(name, axis, own[at], size))
        places.append(own.astype(np.int64, copy=False))
    parts: Any = (wanted.values(values), tuple(places))
    return _finished(sp.coo_array(parts, shape=shape).tocsr(), in_order=False)


_CONVERSIONS: dict[str, Callable[..., Sparse]] = {
    "csr": _from_csr,
    "csc": _from_csc,
    "bsr": _from_bsr,
    "coo": _from_coo,
    "lil": _from_lil,
    "dia": _from_dia,
}


def _checked_arrays(
    matrix: Sparse,
    shape: tuple[int, int],
    name: str,
    axis: str,
    *,
    copy: bool = True,
    team: ThreadTeam | None = None,
) -> _Arrays:
    """Return the arrays of a compressed matrix, none of which another thread can change."""
    starts = _index_array(matrix, "indptr", name).astype(np.int64)
    indices, values = _index_array(matrix, "indices", name), _value_array(matrix, name)
    fits = len(starts) == shape[0] + 1 and len(indices) == len(values)
    if not fits or first_wrong_start(starts, len(indices)) >= 0:
        raise DataError(f"{name} has row pointers that do not fit its values: it is corrupt")
    out = np.empty(0, np.int32)
    if indices.dtype != np.int32:
        indices, out = indices.astype(np.int64), np.empty(0, np.int64)  # a copy, but no second one
    elif not is_native(indices) or (copy and not _is_own(matrix) and not is_frozen(indices)):
        out = new_array(len(indices), np.int32)
    at, in_order = check_rows(starts, indices, shape[1], out, team)
    if at >= 0:
        raise DataError(_outside(name, axis, indices[at], shape[1]))
    return _Arrays(starts, out if len(out) else indices, values, in_order)


def _csr(arrays: _Arrays, values: npt.NDArray[Any], shape: tuple[int, int]) -> Sparse:
    index_type = np.int32 if len(values) <= MOST_COLUMNS else np.int64
    indices = arrays.indices.astype(index_type, copy=False)
    parts: Any = (values, indices, arrays.starts.astype(index_type, copy=False))
    return sp.csr_array(parts, shape=shape)


def _finished(csr: Sparse, *, in_order: bool) -> Sparse:
    if in_order:
        csr.has_canonical_format = True  # or SciPy would look for itself
    else:
        csr.sum_duplicates()
    return csr


def _checked_shape(matrix: Sparse, name: str) -> tuple[int, int]:
    n_rows, n_columns = (int(n) for n in matrix.shape)
    if n_rows < 0 or n_columns < 0:
        raise DataError(f"{name} has the shape {matrix.shape}: it is corrupt")
    return n_rows, n_columns


def _index_array(matrix: Sparse, field: str, name: str) -> npt.NDArray[Any]:
    array = np.asarray(getattr(matrix, field))
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(
            f"{name} is corrupt: its {field} must be a list of whole numbers, got "
            f"{array.dtype} of shape {array.shape}"
        )
    return array


def _value_array(matrix: Sparse, name: str) -> npt.NDArray[Any]:
    array = np.asarray(matrix.data)
    if array.ndim not in (1, 3) or (array.ndim == 3) != (matrix.format == "bsr"):
        raise DataError(f"{name} is corrupt: its values have the shape {array.shape}")
    return array


def _ask_for_rows(shape: tuple[int, int], name: str) -> None:
    memory.ask(16 * shape[0], f"{name} with {shape[0]:,} rows, as CSR")


def _outside(name: str, axis: str, index: Any, size: int) -> str:
    return f"{name} has {axis} index {index} outside its {size:,} {axis}s: the matrix is corrupt"
