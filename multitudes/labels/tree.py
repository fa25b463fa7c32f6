"""LabelTree: clusters of labels, level by level, from the root down to leaves that hold labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes import memory
from multitudes.distinct import distinct
from multitudes.errors import DataError
from multitudes.labels.hierarchy import levels_of_nested, levels_of_parents
from multitudes.labels.rendering import rendered_lines
from multitudes.store import checks
from multitudes.store.state import State
from multitudes.types import IntArray, LabelArray, Sparse
from multitudes.validation import checked_count, checked_index, checked_sparse
from multitudes.validation.arrays import as_array, is_frozen


@dataclass(frozen=True, eq=False)
class LabelTree:
    """A tree over labels; immutable, every leaf on the last level.

    Parameters
    ----------
    offsets : tuple of int64 arrays, one per level
        ``offsets[level]`` has ``n_clusters(level) + 1`` entries. The children of cluster c of a
        level are the ids ``offsets[level][c]:offsets[level][c + 1]`` of the next level. Level 0
        is the root. The last level holds the leaves; their children are *slots*.
    slot_labels : int32 array (n_slots,)
        The label in each slot, ascending within a leaf. Without overlap a permutation of the
        labels; with overlap a label has a slot in each of its leaves.
    n_labels : int
        Size of the label space. Every label has at least one slot.

    Notes
    -----
    A leaf may be empty (there may be fewer labels than leaves, and moving labels may empty one);
    a cluster above the leaves has at least one child.
    """

    offsets: tuple[IntArray, ...]
    slot_labels: LabelArray
    n_labels: int

    def __post_init__(self) -> None:
        offsets = tuple(_frozen(level, np.int64) for level in self.offsets)
        object.__setattr__(self, "offsets", offsets)
        object.__setattr__(self, "slot_labels", _frozen(self.slot_labels, np.int32))
        object.__setattr__(self, "n_labels", int(self.n_labels))
        self._check_levels()
        self._check_slots()

    # ------------------------------------------------------------------ making one

    @classmethod
    def flat(cls, n_labels: int) -> Self:
        """Return the tree of one cluster: the root is the only leaf and holds every label."""
        n_labels = checked_count(n_labels, "n_labels")
        memory.ask(12 * n_labels, f"a LabelTree of {n_labels:,} labels")
        return cls((np.array([0, n_labels]),), np.arange(n_labels, dtype=np.int32), n_labels)

    @classmethod
    def from_leaves(cls, leaves: Sequence[npt.ArrayLike], *, n_labels: int | None = None) -> Self:
        """Return a root over the given leaves, each a sequence of label ids in any order."""
        contents = [_label_ids(leaf) for leaf in leaves]
        sizes = [len(leaf) for leaf in contents]
        slots = np.concatenate(contents) if contents else np.zeros(0, np.int64)
        if n_labels is None:
            n_labels = int(slots.max(initial=-1)) + 1
        root = np.array([0, len(contents)])
        offsets = (root, np.concatenate([[0], np.cumsum(sizes)]))
        return cls(offsets, _frozen(slots, np.int32), n_labels)

    @classmethod
    def from_hierarchy(
        cls,
        hierarchy: Mapping[str, Any] | Sequence[Any] | npt.NDArray[np.integer],
        *,
        n_labels: int | None = None,
    ) -> Self:
        """Return the tree of a hierarchy that already exists, of any and uneven depth.

        Parameters
        ----------
        hierarchy : nested lists, nested mappings, or int array (n_nodes,)
            Nested: an int is a label id, a list or a mapping is a cluster; the keys of a mapping
            name its clusters for the reader and are not kept. Array: the parent of each node, -1
            for a node without one; nodes ``0 .. n_labels - 1`` are the labels, further nodes are
            clusters. A label that is itself a parent (a thesaurus' broader term) becomes a cluster
            that holds the label beside its children.
        n_labels : int, optional
            Size of the label space: by default the largest id + 1 of nested input, and the number
            of nodes of an array.

        Notes
        -----
        All leaves end up on one level: a branch that is shallower than the deepest is padded with
        clusters of a single child. Labels beside clusters under one parent get a leaf of their own.
        """
        if isinstance(hierarchy, np.ndarray):
            n_labels = len(hierarchy) if n_labels is None else n_labels
            offsets, slots = levels_of_parents(hierarchy, n_labels)
        else:
            offsets, slots = levels_of_nested(hierarchy)
        if n_labels is None:
            n_labels = int(slots.max(initial=-1)) + 1
        return cls(offsets, slots.astype(np.int32), n_labels)

    def with_leaves(self, assignment: Sparse) -> LabelTree:
        """Return the same clusters with other contents of the leaves.

        Parameters
        ----------
        assignment : CSR (n_labels, n_leaves)
            Non-zero where a label lives in a leaf; a label may live in several.
        """
        assignment = checked_sparse(assignment, name="assignment", axes="(n_labels, n_leaves)")
        if assignment.shape != (self.n_labels, self.n_leaves):
            raise DataError(
                f"assignment must be (n_labels, n_leaves) = ({self.n_labels}, {self.n_leaves}), "
                f"got {assignment.shape}"
            )
        by_leaf = assignment.tocsc()
        offsets = (*self.offsets[:-1], by_leaf.indptr.astype(np.int64))
        return LabelTree(offsets, by_leaf.indices, self.n_labels)

    # ------------------------------------------------------------------ asking it

    @property
    def depth(self) -> int:
        """Levels of clusters, root and leaves included; the root alone has depth 1."""
        return len(self.offsets)

    @property
    def n_leaves(self) -> int:
        """Clusters of the last level."""
        return self.n_clusters(self.depth - 1)

    @property
    def n_slots(self) -> int:
        """Places of labels in leaves: `n_labels`, and more with overlap."""
        return len(self.slot_labels)

    def n_clusters(self, level: int) -> int:
        """Clusters of a level; level `depth` counts the slots."""
        level = checked_index(level, self.depth + 1, "level")
        return self.n_slots if level == self.depth else len(self.offsets[level]) - 1

    def parents(self, level: int) -> IntArray:
        """For each child of `level` (a cluster of the next level, or a slot) its parent's id."""
        counts = np.diff(self.offsets[checked_index(level, self.depth, "level")])
        return np.repeat(np.arange(len(counts), dtype=np.int64), counts)

    def cluster_of_slot(self, level: int) -> IntArray:
        """Return the cluster of `level` above each slot, int64 (n_slots,)."""
        clusters = np.arange(self.n_clusters(level), dtype=np.int64)
        for upper in range(level, self.depth):
            clusters = np.repeat(clusters, np.diff(self.offsets[upper]))
        return clusters

    def label_clusters(self, level: int) -> sp.csr_array[Any]:
        """CSR (n_labels, n_clusters(level)), float32: 1 where a label lives below a cluster."""
        pairs = (self.slot_labels, self.cluster_of_slot(level))
        matrix = sp.csr_array(
            (np.ones(self.n_slots, np.float32), pairs),
            shape=(self.n_labels, self.n_clusters(level)),
        )
        matrix.sum_duplicates()
        matrix.data[:] = 1  # copies of a label may share an ancestor
        return matrix

    def slots_of_label(self) -> tuple[IntArray, IntArray]:
        """(indptr, slots): label i has the slots ``slots[indptr[i]:indptr[i + 1]]``, ascending."""
        counts = np.bincount(self.slot_labels, minlength=self.n_labels)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return indptr, np.argsort(self.slot_labels, kind="stable").astype(np.int64)

    def leaf_of_label(self) -> IntArray:
        """Return the one leaf of each label, int64 (n_labels,); an error where labels overlap."""
        self.validate(max_overlap=1)
        leaves = np.empty(self.n_labels, np.int64)
        leaves[self.slot_labels] = self.parents(self.depth - 1)
        return leaves

    def labels_of_leaf(self, leaf: int) -> LabelArray:
        """Return the labels of a leaf, ascending."""
        leaf = checked_index(leaf, self.n_leaves, "leaf")
        return self.slot_labels[self.offsets[-1][leaf] : self.offsets[-1][leaf + 1]]

    def render(
        self,
        label_names: Sequence[str] | None = None,
        *,
        max_depth: int | None = None,
        max_children: int = 10,
        cluster_name: Callable[[int, int], str] | None = None,
    ) -> str:
        """Return the tree as indented text; what is cut off is counted.

        Parameters
        ----------
        label_names : sequence of str (n_labels,), optional
            Names to print; defaults to the ids.
        max_depth : int, optional
            Levels of clusters to print; all by default.
        max_children : int
            Children printed per cluster.
        cluster_name : function of (level, cluster) to str, optional
            What a cluster is about, printed behind its number.
        """
        if label_names is not None and len(label_names) != self.n_labels:
            raise DataError(
                f"label_names must have one entry per label ({self.n_labels}), "
                f"got {len(label_names)}"
            )
        if isinstance(label_names, Mapping) or (
            label_names is not None and not all(isinstance(name, str) for name in label_names)
        ):
            raise DataError("label_names must be a sequence of str, one for each label id")
        max_children = checked_count(max_children, "max_children")
        depth = self.depth if max_depth is None else checked_count(max_depth, "max_depth")
        last_level = min(depth, self.depth)
        lines = rendered_lines(
            self.offsets,
            self.slot_labels,
            label_names,
            last_level=last_level,
            max_children=max_children,
            cluster_name=cluster_name,
        )
        return "\n".join(lines)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelTree):
            return NotImplemented
        return (
            self.depth == other.depth
            and self.n_labels == other.n_labels
            and all(np.array_equal(a, b) for a, b in zip(self.offsets, other.offsets, strict=True))
            and np.array_equal(self.slot_labels, other.slot_labels)
        )

    __hash__ = None  # type: ignore[assignment]  # holds arrays

    def __repr__(self) -> str:
        sizes = " -> ".join(str(self.n_clusters(level)) for level in range(self.depth))
        return f"LabelTree({sizes} leaves, {self.n_slots} slots, {self.n_labels} labels)"

    # ------------------------------------------------------------------ checking it

    def validate(self, *, max_overlap: int = 1) -> None:
        """Raise a DataError where a label lives in more than `max_overlap` leaves."""
        max_overlap = checked_count(max_overlap, "max_overlap")
        counts = np.bincount(self.slot_labels, minlength=self.n_labels)
        label = int(np.argmax(counts))
        if counts[label] > max_overlap:
            raise DataError(
                f"label {label} lives in {counts[label]} leaves, allowed is {max_overlap}: "
                "raise max_overlap or assign it to fewer leaves"
            )

    def _check_levels(self) -> None:
        """Each level's offsets rise from 0 to the number of clusters of the next."""
        if any(level.ndim != 1 or not len(level) for level in self.offsets):
            raise DataError("offsets must be one-dimensional arrays that begin with 0")
        if not self.offsets or len(self.offsets[0]) != 2:
            raise DataError("a LabelTree starts with one root: offsets[0] must have 2 entries")
        for level, offsets in enumerate(self.offsets):
            is_leaf_level = level == self.depth - 1
            n_children = self.n_slots if is_leaf_level else len(self.offsets[level + 1]) - 1
            smallest = 0 if is_leaf_level else 1
            if offsets[0] != 0 or offsets[-1] != n_children:
                raise DataError(
                    f"offsets[{level}] must be one-dimensional and run from 0 to the number of "
                    f"its children ({n_children}), got {_ends(offsets)}"
                )
            # Compared, not subtracted: a difference of far apart numbers may overflow.
            too_few = offsets[1:] < offsets[:-1] if is_leaf_level else offsets[1:] <= offsets[:-1]
            if np.any(too_few):
                cluster = int(np.argmax(too_few))
                n_own = int(offsets[cluster + 1]) - int(offsets[cluster])
                raise DataError(
                    f"cluster {cluster} of level {level} has {n_own} children, "
                    f"allowed is {smallest} or more"
                )

    def _check_slots(self) -> None:
        """Every label is in a leaf, ids are in range, leaves ascend without repeats."""
        slots = self.slot_labels
        if self.n_labels < 1:
            raise DataError(f"a LabelTree needs at least one label, got n_labels={self.n_labels}")
        if slots.ndim != 1 or np.any((slots < 0) | (slots >= self.n_labels)):
            raise DataError(
                f"slot_labels must be label ids from 0 to {self.n_labels - 1}, "
                f"got {slots.min(initial=0)} to {slots.max(initial=0)}"
            )
        # Of labels beyond the number of slots one is missing; they are not counted, since there
        # may be any number of them.
        n_counted = min(self.n_labels, len(slots) + 1)
        counts = np.bincount(np.minimum(slots, n_counted), minlength=n_counted + 1)[:n_counted]
        if np.any(counts == 0):
            n_missing = self.n_labels - len(distinct(slots))
            raise DataError(
                f"{n_missing} labels are in no leaf, the first is label {np.argmin(counts)}: "
                "every label must be in at least one"
            )
        leaf = self.parents(self.depth - 1)
        not_rising = (slots[1:] <= slots[:-1]) & (leaf[1:] == leaf[:-1])
        if np.any(not_rising):
            slot = int(np.argmax(not_rising))
            raise DataError(
                f"leaf {leaf[slot]} holds label {slots[slot]} before label {slots[slot + 1]}: "
                "the labels of a leaf must ascend and not repeat"
            )

    # ------------------------------------------------------------------ storing it

    def to_state(self) -> State:
        """Offsets and slots as arrays."""
        arrays = {f"offsets_{level}": offsets for level, offsets in enumerate(self.offsets)}
        config = {"n_labels": self.n_labels, "depth": self.depth}
        return State("label-tree", config, {**arrays, "slot_labels": self.slot_labels})

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check names and types; the tree checks its own structure."""
        depth = checks.count(state, "depth", at_least=1, at_most=len(state.arrays))
        levels = [f"offsets_{level}" for level in range(depth)]
        checks.names(state, config=("n_labels", "depth"), arrays=(*levels, "slot_labels"))
        checks.count(state, "n_labels", at_least=1)
        checks.array(state, "slot_labels", "int32", (None,))
        for name in levels:
            checks.array(state, name, "int64", (None,))
        cls.from_state(state)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Return the tree again, checked."""
        depth = int(state.config["depth"])
        offsets = tuple(state.arrays[f"offsets_{level}"] for level in range(depth))
        return cls(offsets, state.arrays["slot_labels"], int(state.config["n_labels"]))


def _label_ids(leaf: npt.ArrayLike) -> IntArray:
    """Return the label ids of a leaf, ascending; something else is a DataError."""
    ids = as_array(leaf)
    if ids is None or (ids.size and ids.dtype.kind not in "iu"):
        raise DataError(f"a leaf is a sequence of label ids, got {leaf!r:.200}")
    return np.sort(ids.ravel().astype(np.int64))


def _frozen(values: npt.ArrayLike, dtype: type[np.generic]) -> npt.NDArray[Any]:
    """Return a read-only array in the tree's dtype, a copy of what others could still change."""
    given = as_array(values)
    if given is None or (given.size and given.dtype.kind not in "iu"):
        got = type(values).__name__ if given is None else f"an array of {given.dtype}"
        raise DataError(f"a LabelTree is made of integer ids, got {got}")
    limits = np.iinfo(np.dtype(dtype))
    if given.size and not limits.min <= int(given.min()) <= int(given.max()) <= limits.max:
        raise DataError(f"a LabelTree is made of {np.dtype(dtype)} ids, got {given.max()}")
    own = given.astype(dtype, copy=not is_frozen(given)).view()
    own.flags.writeable = False
    return own


def _ends(offsets: IntArray) -> str:
    return f"shape {offsets.shape}" + (f", {offsets[0]} to {offsets[-1]}" if offsets.ndim else "")
