"""What must hold of the stored weights of a level, against the tree and the features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from multitudes.errors import StoreError
from multitudes.kernels.checking import readonly
from multitudes.kernels.search import chunk_checks as kernels
from multitudes.kernels.threads import ThreadTeam
from multitudes.store import State, checks
from multitudes.types import IntArray

ROWS_AT_ONCE = 1 << 22  # of a level, for one thread
PROBLEMS = {
    kernels.FEATURE_OUTSIDE: "row_feature names a feature that there is not",
    kernels.FEATURES_FALL: "row_feature does not ascend within each cluster",
    kernels.CHILD_OUTSIDE: "entry_child names a child that its cluster does not have",
    kernels.CHILDREN_FALL: "entry_child does not ascend within each row",
}


def check_arrays(state: State) -> None:
    """Refuse arrays of a level that do not fit each other in number, or are not finite.

    Those that must be gone through row by row are `check_level`'s.
    """
    checks.names(
        state,
        config=(),
        arrays=(
            "chunk_rows", "row_feature", "row_entries", "entry_child", "entry_value", "bias",
            "seen", "scale",
        ),
        optional=("scale",),
    )  # fmt: skip
    n_clusters = len(checks.array(state, "chunk_rows", "int32", (None,)))
    n_rows = len(checks.array(state, "row_feature", "int32", (None,)))
    checks.array(state, "row_entries", ("uint8", "uint16", "uint32"), (n_rows,))
    n_entries = len(checks.array(state, "entry_child", ("uint8", "uint16", "uint32"), (None,)))
    values = checks.array(state, "entry_value", ("float32", "float16", "int8"), (n_entries,))
    bias = checks.array(state, "bias", ("float32", "float64"), (None,))
    seen = checks.array(state, "seen", "int64", (n_clusters,))
    checks.counts(state.arrays["chunk_rows"], "chunk_rows", n_rows)
    checks.finite(values, "entry_value")
    checks.finite(bias, "bias")
    checks.within(seen, "seen", 1 << 53)
    if values.dtype == np.int8 or "scale" in state.arrays:
        scale = checks.array(state, "scale", "float32", (len(bias),))
        checks.finite(scale, "scale")


def check_level(state: State, offsets: IntArray, n_features: int) -> None:
    """Refuse a level whose rows or entries lie outside of the features or of the tree.

    Parameters
    ----------
    state : State
        That has passed `check_arrays`.
    offsets : int64 array (n_clusters + 1,)
        Of the tree, for this level.
    n_features : int
    """
    chunk_rows, child_count = state.arrays["chunk_rows"], np.diff(offsets)
    checks.same(len(chunk_rows), len(child_count), "the number of clusters")
    checks.same(len(state.arrays["bias"]), int(offsets[-1]), "the number of children")
    if state.arrays["entry_child"].dtype == np.uint32 and child_count.max(initial=0) <= 1 << 16:
        raise StoreError("entry_child is wider than the children of a cluster need")
    _refuse(*kernels.check_rows(readonly(chunk_rows), _of(state, "row_feature"), n_features))
    row_entries, entry_child = _of(state, "row_entries"), _of(state, "entry_child")

    def check(piece: Piece) -> None:
        clusters = slice(piece.first, piece.last)
        problem, cluster = kernels.check_entries(
            readonly(chunk_rows[clusters]), row_entries, entry_child,
            readonly(child_count[clusters]), piece.row, piece.entry,
        )  # fmt: skip
        _refuse(problem, cluster if cluster < 0 else piece.first + cluster)

    cut = pieces(chunk_rows, row_entries)
    checks.same(cut[-1].entry, len(entry_child), "the number of entries")
    with ThreadTeam() as team:
        team.map(check, cut[:-1])


class Piece(NamedTuple):
    """Clusters `first` to `last` - 1 of a level, with the first row and entry of the first."""

    first: int
    last: int
    row: int
    entry: int


def pieces(chunk_rows: npt.NDArray[Any], row_entries: npt.NDArray[Any]) -> list[Piece]:
    """Cut a level into runs of clusters of about as many rows each; the last, empty, is its end.

    Counts of rows are known to be sound. Those of entries are unsigned and of 32 bits at most, so
    that their sum does not overflow.
    """
    starts = np.concatenate([[0], np.cumsum(chunk_rows, dtype=np.int64)])
    cuts = np.searchsorted(starts, np.arange(0, len(row_entries), ROWS_AT_ONCE))
    firsts = sorted({0, *cuts.tolist()})
    found, entry = [], 0
    for first, last in zip(firsts, [*firsts[1:], len(chunk_rows)], strict=True):
        row, end = int(starts[first]), int(starts[last])
        found.append(Piece(first, last, row, entry))
        entry += int(row_entries[row:end].sum(dtype=np.int64))
    return [*found, Piece(len(chunk_rows), len(chunk_rows), len(row_entries), entry)]


def _of(state: State, name: str) -> npt.NDArray[Any]:
    return readonly(state.arrays[name])


def _refuse(problem: int, cluster: int) -> None:
    if problem != kernels.SOUND:
        where = f" (cluster {cluster})" if cluster >= 0 else ""
        raise StoreError(PROBLEMS[problem] + where)
