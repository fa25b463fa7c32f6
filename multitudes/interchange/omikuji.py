"""Forests of omikuji: one CBOR file for each tree, nested as the tree is.

A node has weights of its children, a matrix (n_features + 1, n_children) whose last row belongs to
the constant feature; children are nodes, or in a leaf labels. Leaves lie at any depth. While
omikuji's beam goes down, a leaf that it has reached keeps its score. Here all leaves are on the
last level: above a leaf that lies higher, clusters with a single child of score 1 are put.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from multitudes.errors import DataError, StoreError
from multitudes.interchange.cbor import CborReader
from multitudes.interchange.files import COPY_AGAIN, field, read_json
from multitudes.interchange.levels import SURE, Weights, fitted_tree, joined, level_of
from multitudes.interchange.omikuji_forest import OmikujiForest
from multitudes.interchange.recognition import OMIKUJI_SETTINGS, OMIKUJI_TREES
from multitudes.linear import XRLinear
from multitudes.linear.level_weights import LevelWeights, ends
from multitudes.types import FloatArray, IntArray

BEAM_WIDTH = 10  # what omikuji predicts with unless told otherwise; a model does not store it
DEEPEST = 128
MOST_CHILDREN = 1 << 24
NOTHING = np.zeros(0, np.int64)
SCORE_FUNCTIONS = {"Hinge": "l2-hinge", "Log": "sigmoid"}


@dataclass(frozen=True)
class Node:
    """A node with the weights of its children.

    Parameters
    ----------
    weights : Weights
    children : tuple of Node
        Empty for a leaf.
    labels : int64 array (n_children,), of a leaf
    """

    weights: Weights
    children: tuple[Node, ...] = ()
    labels: IntArray | None = None


def read_omikuji(folder: Path, *, n_labels: int | None = None) -> OmikujiForest:
    """Read a forest.

    Omikuji does not keep labels that no training instance had, nor how many labels there were; by
    default `n_labels` is the largest id + 1.
    """
    path = folder / OMIKUJI_SETTINGS
    settings = read_json(path)
    n_features = field(settings, "n_features", int, path)
    loss = field(settings, "classifier_loss_type", str, path)
    if not 1 <= n_features < np.iinfo(np.int32).max:
        raise StoreError(f"{path}: 'n_features' must be 1 or more, got {n_features}")
    if loss not in SCORE_FUNCTIONS:
        raise StoreError(
            f"{path}: 'classifier_loss_type' must be one of {', '.join(SCORE_FUNCTIONS)}, "
            f"got {loss!r}"
        )
    paths = sorted(folder.glob(OMIKUJI_TREES), key=lambda file: (len(file.name), file.name))
    if not paths:
        raise StoreError(f"there is no file {OMIKUJI_TREES} in {folder}: {COPY_AGAIN}")
    roots = [_read_tree(file, n_features) for file in paths]
    labels = [_labels_of(root, file) for root, file in zip(roots, paths, strict=True)]
    largest = max(int(own[-1]) for own in labels)
    if n_labels is None:
        n_labels = largest + 1
    elif n_labels <= largest:
        raise DataError(
            f"there are {n_labels:,} label names, but {folder} has label ids up to {largest:,}: "
            "give a name for each id from 0 on"
        )
    score_function = SCORE_FUNCTIONS[loss]
    trees = [
        _tree(root, n_labels, n_features, score_function, file)
        for root, file in zip(roots, paths, strict=True)
    ]
    return OmikujiForest.of_trees(trees)


# ------------------------------------------------------------------ reading


def _read_tree(path: Path, n_features: int) -> Node:
    reader = CborReader(path)
    root = _read_node(reader, n_features, 0)
    reader.end()
    return root


def _read_node(reader: CborReader, n_features: int, depth: int) -> Node:
    if depth > DEEPEST:
        raise reader.error(f"expected a tree of at most {DEEPEST} levels")
    kind = reader.variant()
    if kind not in ("Branch", "Leaf"):
        raise reader.error(f"expected a Branch or a Leaf, got {kind!r}")
    weights: Weights | None = None
    children: list[Node] = []
    labels: IntArray | None = None
    for name in reader.fields():
        if name == "weights":
            weights = _read_weights(reader, n_features)
        elif name == "children" and kind == "Branch":
            children = [_read_node(reader, n_features, depth + 1) for _ in reader.items()]
        elif name == "labels" and kind == "Leaf":
            labels = reader.whole_numbers()
        else:
            raise reader.error(f"a {kind} has no {name!r} in the format of omikuji 0.5")
    n_children = len(children) if labels is None else len(labels)
    if weights is None or not n_children or len(weights.bias) != n_children:
        raise reader.error(f"a {kind} must have children, and weights for each")
    return Node(weights, tuple(children), labels)


class _Matrix(NamedTuple):
    """A matrix (n_features + 1, n_children), entry by entry."""

    n_rows: int
    n_columns: int
    row: IntArray
    column: IntArray
    value: FloatArray


def _read_weights(reader: CborReader, n_features: int) -> Weights:
    form = reader.variant()
    if form not in ("Dense", "Sparse"):
        raise reader.error(f"expected Dense or Sparse weights, got {form!r}")
    matrix = _read_dense(reader) if form == "Dense" else _read_sparse(reader)
    if matrix.n_rows != n_features + 1:
        raise reader.error(f"expected weights of {n_features:,} features and a constant")
    if matrix.n_columns > MOST_CHILDREN:
        raise reader.error(f"expected at most {MOST_CHILDREN:,} children")
    constant = matrix.row == n_features
    bias = np.zeros(matrix.n_columns, np.float32)
    bias[matrix.column[constant]] = matrix.value[constant]
    return Weights(matrix.row[~constant], matrix.column[~constant], matrix.value[~constant], bias)


def _read_dense(reader: CborReader) -> _Matrix:
    shape, data = NOTHING, None
    for name in reader.fields():
        if name == "v":
            reader.whole_number()
        elif name == "dim":
            shape = reader.whole_numbers()
        elif name == "data":
            data = reader.floats()
        else:
            raise reader.error(f"dense weights have no {name!r}")
    if data is None or len(shape) != 2 or int(shape[0]) * int(shape[1]) != len(data):
        raise reader.error("dense weights must have 'dim' and as much 'data'")
    matrix = data.reshape(int(shape[0]), int(shape[1]))
    feature, child = np.nonzero(matrix)
    return _Matrix(*matrix.shape, feature, child, matrix[feature, child])


def _read_sparse(reader: CborReader) -> _Matrix:
    """Rows that hold anything: `outer_inds` are their features, `inner_inds` the children."""
    sizes: dict[str, int] = {}
    arrays: dict[str, Any] = {}
    for name in reader.fields():
        if name in ("outer_dim", "inner_dim"):
            sizes[name] = reader.whole_number()
        elif name in ("indptr", "outer_inds", "inner_inds"):
            arrays[name] = reader.whole_numbers()
        elif name == "data":
            arrays[name] = reader.floats()
        else:
            raise reader.error(f"sparse weights have no {name!r}")
    if len(sizes) != 2 or len(arrays) != 4:
        raise reader.error("sparse weights lack some of their fields")
    n_rows, n_columns = sizes["outer_dim"], sizes["inner_dim"]
    indptr, rows, columns, data = (
        arrays[name] for name in ("indptr", "outer_inds", "inner_inds", "data")
    )
    counts = np.diff(indptr)
    whole = len(indptr) == len(rows) + 1 and indptr[0] == 0 and indptr[-1] == len(data)
    whole = whole and len(columns) == len(data) and not (counts < 0).any()
    inside = rows.max(initial=-1) < n_rows and columns.max(initial=-1) < n_columns
    if not whole or not inside:
        raise reader.error("the indices of sparse weights do not fit each other")
    return _Matrix(n_rows, n_columns, np.repeat(rows, counts), columns, data)


def _labels_of(root: Node, path: Path) -> IntArray:
    """Return all labels of a tree, ascending."""
    found, nodes = [NOTHING], [root]
    while nodes:
        node = nodes.pop()
        nodes += node.children
        if node.labels is not None:
            found.append(node.labels)
    labels = np.concatenate(found)
    distinct = np.unique(labels)
    if len(distinct) < len(labels) or distinct[-1] > np.iinfo(np.int32).max:
        raise StoreError(f"{path} holds a label twice, or an id that is too large: {COPY_AGAIN}")
    return distinct


# ------------------------------------------------------------------ as ours


def _tree(root: Node, n_labels: int, n_features: int, score_function: str, path: Path) -> XRLinear:
    """Return the tree with all leaves on its last level."""
    offsets, levels = [], []
    nodes = [root]
    while any(node.children for node in nodes):
        offsets.append(ends([len(node.children) or 1 for node in nodes]))
        levels.append(_level([_above(node) for node in nodes], n_features, path))
        nodes = [below for node in nodes for below in node.children or (node,)]
    leaves = [_by_label(node) for node in nodes]
    offsets.append(ends([len(own) for _, own in leaves]))
    levels.append(_level([weights for weights, _ in leaves], n_features, path))
    return fitted_tree(
        offsets,
        np.concatenate([own for _, own in leaves]),
        levels,
        n_labels=n_labels,
        n_features=n_features,
        beam_width=BEAM_WIDTH,
        score_function=score_function,
    )


def _above(node: Node) -> Weights:
    """Return the weights of a branch; of a leaf, those of the single child that leads to it."""
    if node.children:
        return node.weights
    return Weights(NOTHING, NOTHING, np.zeros(0, np.float32), np.full(1, SURE))


def _by_label(node: Node) -> tuple[Weights, IntArray]:
    """Return the weights and the labels of a leaf, labels ascending."""
    assert node.labels is not None
    order = np.argsort(node.labels)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    weights = node.weights
    moved = weights._replace(child=place[weights.child], bias=weights.bias[order])
    return moved, node.labels[order]


def _level(parts: list[Weights], n_features: int, path: Path) -> LevelWeights:
    counts = [len(part.value) for part in parts]
    return level_of(
        joined(parts),
        np.repeat(np.arange(len(parts)), counts),
        n_clusters=len(parts),
        n_features=n_features,
        source=path,
    )
