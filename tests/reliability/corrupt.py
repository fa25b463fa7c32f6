"""Sparse matrices of every format whose parts may not fit each other, and all that takes one.

Run as a program, it hands such matrices to every public callable, in one process: a crash ends it,
and the last line on the standard error names the call. Any answer is right, and any error of ours.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from multitudes.errors import MultitudesError

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
KINDS = ("array", "matrix")
VALUE_TYPES = (
    np.float32,
    np.float64,
    np.float16,
    np.int8,
    np.int64,
    np.bool_,
    ">f8",
    np.longdouble,
)
INDEX_TYPES = (np.int32, np.int64, np.int16, np.uint64, ">i4")
ODD = (-1, -7, 0, 1, 3, 4, 5, 8, 99, 2**31 - 1, -(2**31), 2**31, 2**40, -(2**63), 2**63 - 1)
NUMBERS = (0.0, 1.0, -1.0, 0.5, 3e38, 1e300, float("nan"), float("inf"), -float("inf"))
INDEX_FIELDS = ("indices", "indptr", "row", "col", "offsets")


@st.composite
def matrices(draw: st.DrawFn, shape: tuple[int, int]) -> Any:
    """A matrix of about this shape; one in four is sound, though perhaps of an unusual type."""
    rng = np.random.default_rng(draw(st.integers(0, 9999)))
    dense = (rng.random(shape) < 0.5) * np.round(rng.random(shape) * 2, 1)
    if draw(st.booleans()):
        dense = (dense > 0).astype(np.float64)  # as labels are
    dense = dense.astype(np.dtype(draw(st.sampled_from(VALUE_TYPES))).newbyteorder("="))
    if dense.dtype in (np.float16, np.longdouble):
        dense = dense.astype(np.float32)  # SciPy makes no matrices of these; changed below
    name = f"{draw(st.sampled_from(FORMATS))}_{draw(st.sampled_from(KINDS))}"
    matrix = getattr(sp, name)(dense)
    for _ in range(draw(st.integers(0, 3))):
        damage(draw, matrix)
    return matrix


def damage(draw: st.DrawFn, matrix: Any) -> None:
    """Change one part of a matrix, past SciPy's checks."""
    fields = [name for name in (*INDEX_FIELDS, "data", "rows", "_shape") if hasattr(matrix, name)]
    field = draw(st.sampled_from(fields))
    old = getattr(matrix, field)
    if field == "_shape":
        new: Any = draw(st.tuples(st.sampled_from(ODD), st.sampled_from(ODD)))
    elif field in INDEX_FIELDS:
        new = changed(draw, np.array(old), ODD, INDEX_TYPES)
    elif matrix.format == "lil":
        new = changed_lists(draw, old)
    else:
        new = changed(draw, np.array(old), NUMBERS, VALUE_TYPES)
    try:
        setattr(matrix, field, new)
    except (AttributeError, ValueError, TypeError, OverflowError):
        return  # SciPy did not let it pass


def changed(draw: st.DrawFn, array: Any, values: tuple[Any, ...], types: tuple[Any, ...]) -> Any:
    """Return an array with other values, length, type or layout."""
    way = draw(st.sampled_from(("value", "value", "value", "length", "type", "layout", "object")))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if way == "value" and array.size:
            at, value = draw(st.integers(0, array.size - 1)), draw(st.sampled_from(values))
            fits = array.dtype.kind == "f" or np.can_cast(np.min_scalar_type(value), array.dtype)
            array = array if fits else array.astype(np.float64 if value != value else np.int64)
            array.reshape(-1)[at] = value
        elif way == "length":
            size = draw(st.integers(0, 20))
            array = np.resize(array, (size, *array.shape[1:])) if array.size else array
        elif way == "type":
            array = array.astype(draw(st.sampled_from(types)))
        elif way == "layout" and array.ndim == 1:
            array = np.repeat(array, 2)[::2]
            array.flags.writeable = draw(st.booleans())
        elif way == "object":
            return draw(st.sampled_from([None, array.tolist(), array[None], array.astype(object)]))
    return array


def changed_lists(draw: st.DrawFn, lists: Any) -> Any:
    """Return lists of a LIL matrix, of which one is longer, shorter, or no list."""
    lists = lists.copy()
    if len(lists):
        at = draw(st.integers(0, len(lists) - 1))
        way = draw(st.sampled_from(("more", "less", "value", "none")))
        row = list(lists[at]) if isinstance(lists[at], list) else []
        odd = draw(st.sampled_from(ODD))
        lists[at] = {"more": [*row, 1], "less": row[:-1], "value": [*row[:-1], odd], "none": None}[
            way
        ]
    return lists


def calls() -> dict[str, tuple[tuple[int, int], Callable[[Any], Any]]]:
    """Return every call that takes a matrix, with the shape it should have."""
    from tests.reliability import matrix_calls

    return matrix_calls.CALLS


def attempt(name: str, call: Callable[[Any], Any], matrix: Any) -> str | None:
    """Make a call, which may refuse the matrix; return what else it raised, and where."""
    sys.stderr.write(f"{name}: {matrix.format}\n")
    sys.stderr.flush()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            call(matrix)
        except MultitudesError:
            return None
        except Exception:  # it is shown in the end
            return f"{name}: {matrix.format}\n{traceback.format_exc(limit=-4)}"
    return None


def failures(name: str, n_examples: int, first_seed: int) -> list[str]:
    """Draw matrices for a call, and return the errors that are not ours."""
    (shape, call), found = calls()[name], []

    @seed(first_seed)
    @settings(
        max_examples=n_examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(matrices(shape))
    def run(matrix: Any) -> None:
        found.append(attempt(name, call, matrix))

    run()
    return [text for text in found if text is not None]


def main(n_examples: int, first_seed: int) -> None:
    """Make all calls; the standard output has the foreign errors."""
    found = [text for name in calls() for text in failures(name, n_examples, first_seed)]
    sys.stdout.write("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
