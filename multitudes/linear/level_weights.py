"""The kept weights of one level, chunk by chunk: what training makes and the store keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from multitudes.linear.level_checks import check_arrays
from multitudes.store import State
from multitudes.types import FloatArray, IntArray

WEIGHT_TYPES = ("float32", "float16", "int8")


class Chunk(NamedTuple):
    """Weights of some children of one cluster, rows by ascending feature."""

    row_feature: npt.NDArray[np.int32]
    row_entry: IntArray
    entry_child: npt.NDArray[Any]
    entry_value: FloatArray
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
    row_entry : int64 array (n_rows + 1,)
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
    row_entry: IntArray
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
        """Join the chunks of all clusters of a level, in float32."""
        largest = max((len(chunk.bias) for chunk in chunks), default=0)
        child_type = np.uint16 if largest <= 1 << 16 else np.uint32
        row_counts = [len(chunk.row_feature) for chunk in chunks]
        entry_counts = np.concatenate([np.diff(chunk.row_entry) for chunk in chunks])
        bias = np.concatenate([chunk.bias for chunk in chunks])
        return cls(
            ends(row_counts),
            np.concatenate([chunk.row_feature for chunk in chunks]),
            ends(entry_counts),
            np.concatenate([chunk.entry_child.astype(child_type) for chunk in chunks]),
            np.concatenate([chunk.entry_value for chunk in chunks]),
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
        counts = np.diff(self.row_entry[self.chunk_row])
        child = np.repeat(offsets[:-1], counts) + self.entry_child
        values = self.entry_value.astype(np.float32) * self.scale[child]
        scale = np.ones_like(self.scale)
        stored: npt.NDArray[Any] = values
        if weights == "float16":
            stored = np.clip(values, -65504, 65504).astype(np.float16)
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
            "row_entries": smallest_unsigned(np.diff(self.row_entry)),
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
            ends(arrays["row_entries"]),
            child.astype(np.uint16 if child.dtype.itemsize <= 2 else np.uint32),
            np.asarray(arrays["entry_value"]),
            bias.astype(np.float32, copy=False),
            np.asarray(arrays.get("scale", np.ones(len(bias), np.float32))),
            np.asarray(arrays["seen"]),
        )


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


def ends(counts: npt.ArrayLike) -> IntArray:
    """Return where each of the counted runs begins, and where the last ends: int64 (n + 1,)."""
    out = np.zeros(len(np.asarray(counts)) + 1, np.int64)
    np.cumsum(counts, out=out[1:])
    return out


def smallest_unsigned(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return whole numbers in the smallest unsigned type that holds them."""
    largest = int(values.max(initial=0))
    return values.astype(np.min_scalar_type(largest))
