"""The kept weights of one level, chunk by chunk: what training makes and the store keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from multitudes.files.large import joined, new_array
from multitudes.linear.level_checks import check_arrays
from multitudes.store import State
from multitudes.types import FloatArray, IntArray

Column = list[npt.NDArray[Any]]
WEIGHT_TYPES = ("float32", "float16", "int8")
BLOCK = 1 << 20  # numbers that are looked at together


class Chunk(NamedTuple):
    """Weights of some children of one cluster, rows by ascending feature."""

    row_feature: npt.NDArray[np.int32]
    row_entry: npt.NDArray[Any]
    entry_child: npt.NDArray[Any]
    entry_value: npt.NDArray[Any]
    bias: FloatArray


@dataclass(frozen=True)
class LevelWeights:
    """Weights of all clusters of a level.

    Parameters
    ----------
    chunk_row : int64 array (n_clusters + 1,)
        Rows of each cluster's chunk.
    row_feature : int32 array (n_rows,)
        Feature of each row, ascending within a chunk.
    row_entry : int32 array (n_rows + 1,), int64 for more than 2^31 - 1 entries
        Entries of each row.
    entry_child : uint16 or uint32 array (n_entries,)
        Child of each entry, counted within its cluster.
    entry_value : float32, float16 or int8 array (n_entries,)
        The weight, in units of the child's `scale`.
    bias : float32 array (n_children,)
    scale : float32 array (n_children,)
        All ones but for int8.
    seen : int64 array (n_clusters,)
        Instances behind each cluster's weights: how firmly an update holds on to them.
    """

    chunk_row: IntArray
    row_feature: npt.NDArray[np.int32]
    row_entry: npt.NDArray[Any]
    entry_child: npt.NDArray[Any]
    entry_value: npt.NDArray[Any]
    bias: FloatArray
    scale: FloatArray
    seen: IntArray

    @property
    def n_clusters(self) -> int:
        """Clusters of the level."""
        return len(self.chunk_row) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(int(array.nbytes) for array in vars(self).values())

    @classmethod
    def from_chunks(cls, chunks: Sequence[Chunk], seen: IntArray) -> Self:
        """Join the chunks of all clusters of a level; values keep their type."""
        return cls.from_columns(columns_of(chunks), seen)

    @classmethod
    def from_columns(cls, columns: list[Column], seen: IntArray) -> Self:
        """Join what `columns_of` returned; each list is emptied as soon as it is joined."""
        row_features, row_entries, entry_children, entry_values, biases = columns
        largest = max(map(len, biases), default=0)
        value_type = entry_values[0].dtype
        chunk_row = ends([len(own) for own in row_features])
        bias = np.concatenate(biases)
        return cls(
            chunk_row,
            joined(emptied(row_features), np.int32),
            joined_starts(emptied(row_entries)),
            joined(emptied(entry_children), child_type(largest)),
            joined(emptied(entry_values), value_type),
            bias,
            np.ones(len(bias), np.float32),
            seen,
        )

    def chunk(self, cluster: int, first_child: int, n_children: int) -> Chunk:
        """Return one cluster's weights as float32; its children start at `first_child`."""
        first, last = self.chunk_row[cluster], self.chunk_row[cluster + 1]
        entries = slice(self.row_entry[first], self.row_entry[last])
        children = slice(first_child, first_child + n_children)
        values = self.entry_value[entries].astype(np.float32)
        values *= self.scale[children][self.entry_child[entries]]
        return Chunk(
            self.row_feature[first:last],
            self.row_entry[first : last + 1] - self.row_entry[first],
            self.entry_child[entries],
            values,
            self.bias[children],
        )

    def converted(self, weights: str, offsets: IntArray) -> LevelWeights:
        """Return the level with weights stored as float32, float16 or int8.

        int8 spreads each child's weights over -127 to 127; a weight that rounds to 0 stays as 0.
        """
        if self.entry_value.dtype == weights != "int8":
            return self
        values = self.entry_value.astype(np.float32, copy=False)
        if np.int8 in (self.entry_value.dtype, np.dtype(weights)):
            counts = np.diff(self.row_entry[self.chunk_row])
            child = np.repeat(offsets[:-1], counts) + self.entry_child
            values = values * self.scale[child]
        scale = np.ones_like(self.scale)
        stored: npt.NDArray[Any] = values
        if weights == "float16":
            stored = halves(values)
        elif weights == "int8":
            largest = np.zeros_like(self.scale)
            np.maximum.at(largest, child, np.abs(values))
            scale = np.where(largest > 0, largest / 127, 1).astype(np.float32)
            stored = np.rint(values / scale[child]).astype(np.int8)
        return LevelWeights(
            self.chunk_row, self.row_feature, self.row_entry, self.entry_child, stored,
            self.bias, scale, self.seen,
        )  # fmt: skip

    def to_state(self) -> State:
        """Return arrays for the store: counts instead of positions, in the smallest types."""
        arrays = {
            "chunk_rows": np.diff(self.chunk_row).astype(np.int32),
            "row_feature": self.row_feature,
            "row_entries": counts_between(self.row_entry),
            "entry_child": smallest_unsigned(self.entry_child),
            "entry_value": self.entry_value,
            "bias": self.bias,
            "seen": self.seen,
        }
        if self.entry_value.dtype == np.int8:
            arrays["scale"] = self.scale
        return State("level-weights", arrays=arrays)

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check the arrays against each other; the model around them, against its tree."""
        check_arrays(state)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build the level again: positions from counts."""
        arrays = state.arrays
        child = arrays["entry_child"]
        bias = np.asarray(arrays["bias"])
        return cls(
            ends(arrays["chunk_rows"]),
            np.asarray(arrays["row_feature"]),
            ends(arrays["row_entries"], place_type(len(child))),
            joined([child], np.uint16 if child.dtype.itemsize <= 2 else np.uint32),
            np.asarray(arrays["entry_value"]),
            bias.astype(np.float32, copy=False),
            np.asarray(arrays.get("scale", np.ones(len(bias), np.float32))),
            np.asarray(arrays["seen"]),
        )


def packed(chunk: Chunk, weights: str, n_children: int) -> Chunk:
    """Return a chunk in smaller types: those in which its level, of clusters up to so large, ends.

    Only weights of 8 bits, which are relative to others, stay as they are until all are there.
    """
    return chunk._replace(
        row_entry=chunk.row_entry.astype(np.int32),
        entry_child=chunk.entry_child.astype(child_type(n_children)),
        entry_value=halves(chunk.entry_value) if weights == "float16" else chunk.entry_value,
    )


def child_type(n_children: int) -> type[np.unsignedinteger[Any]]:
    """Return the type of children, counted within clusters of at most so many."""
    return np.uint16 if n_children <= 1 << 16 else np.uint32


def halves(values: FloatArray) -> npt.NDArray[np.float16]:
    """Return float16 of float32, the largest where a value is larger."""
    return np.clip(values, -65504, 65504).astype(np.float16)


def join_parts(parts: Sequence[Chunk]) -> Chunk:
    """Join parts that hold different children of the same cluster, in their order, in one chunk."""
    if len(parts) == 1:
        return parts[0]
    feature = np.concatenate([np.repeat(p.row_feature, np.diff(p.row_entry)) for p in parts])
    order = np.argsort(feature, kind="stable")
    row_feature, counts = np.unique(feature, return_counts=True)
    return Chunk(
        row_feature,
        ends(counts),
        np.concatenate([p.entry_child for p in parts])[order],
        np.concatenate([p.entry_value for p in parts])[order],
        np.concatenate([p.bias for p in parts]),
    )


def columns_of(chunks: Sequence[Chunk]) -> list[Column]:
    """Return the arrays of chunks field by field."""
    return [list(column) for column in zip(*chunks, strict=True)]


def emptied(column: Column) -> Column:
    """Return what a list holds, and let it go from there."""
    arrays, column[:] = column[:], []
    return arrays


def joined_starts(starts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return where runs begin, of several lists of them end to end, and where the last ends."""
    out = new_array(
        sum(len(own) - 1 for own in starts) + 1, place_type(sum(int(own[-1]) for own in starts))
    )
    out[0], at = 0, 0
    for own in starts:
        np.add(own[1:], out[at], out=out[at + 1 : at + len(own)])
        at += len(own) - 1
    return out


def place_type(n: int) -> type[np.signedinteger[Any]]:
    """Return the type of places up to n: there are about as many as weights."""
    return np.int32 if n <= np.iinfo(np.int32).max else np.int64


def ends(counts: npt.ArrayLike, dtype: type[np.signedinteger[Any]] = np.int64) -> npt.NDArray[Any]:
    """Return where each of the counted runs begins, and where the last ends: (n + 1,)."""
    out = new_array(len(np.asarray(counts)) + 1, dtype)
    out[0] = 0
    np.cumsum(counts, out=out[1:])
    return out


def counts_between(starts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the lengths of runs, in the smallest unsigned type, without another array as large."""
    blocks = [slice(at, at + BLOCK + 1) for at in range(0, len(starts) - 1, BLOCK)]
    largest = max((int(np.diff(starts[block]).max()) for block in blocks), default=0)
    out = new_array(len(starts) - 1, np.min_scalar_type(largest))
    for block in blocks:
        out[block.start : block.stop - 1] = np.diff(starts[block])
    return out


def smallest_unsigned(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return whole numbers in the smallest unsigned type that holds them."""
    largest = int(values.max(initial=0))
    return values.astype(np.min_scalar_type(largest))
