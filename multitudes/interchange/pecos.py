"""XR-Linear models of PECOS: one matrix of weights and one of clusters for each level.

Level d lies in ``ranker/<d>.model``: ``W.npz`` has a column of weights for each child, with a last
row for the constant feature if ``bias`` > 0, and ``C.npz`` says which children each cluster has.
The children of a level are the clusters of the next. Columns are in any order; a `LabelTree` has
the children of a cluster side by side, so each level is put in the order of the one above.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.distinct import distinct
from multitudes.errors import StoreError
from multitudes.interchange.files import COPY_AGAIN, field, read_json, read_matrix
from multitudes.interchange.levels import Weights, fitted_tree, level_of
from multitudes.interchange.recognition import PECOS_LEVEL, PECOS_PARAMETERS, PECOS_RANKER
from multitudes.linear import XRLinear
from multitudes.linear.level_weights import LevelWeights, ends
from multitudes.types import IntArray

MOST_LEVELS = 64
NO_LIMIT = 1 << 30


@dataclass(frozen=True)
class _Level:
    """What is stored of a level, checked."""

    folder: Path
    weights: sp.csc_array[Any]  # (n_features [+ 1], n_children)
    clusters: sp.csc_array[Any]  # (n_children, n_clusters)
    bias: float
    beam_width: int
    post_processor: str

    @property
    def n_features(self) -> int:
        return int(self.weights.shape[0]) - (self.bias > 0)


def read_pecos(folder: Path) -> tuple[XRLinear, tuple[str, ...]]:
    """Read the folder of an XLinearModel, or the ``ranker`` folder inside it.

    Returns the model, and remarks on what differs from the original.
    """
    levels = _read_levels(folder / PECOS_RANKER if (folder / PECOS_RANKER).is_dir() else folder)
    n_features = levels[0].n_features
    order: IntArray = np.zeros(1, np.int64)
    offsets, weights = [], []
    for level in levels:
        if level.n_features != n_features:
            raise StoreError(
                f"{level.folder / 'W.npz'} is made for {level.n_features:,} features, the level "
                f"above for {n_features:,}: {COPY_AGAIN}"
            )
        own, order = _children(level, order)
        offsets.append(own)
        weights.append(_level_weights(level, own, order))
    beam_width, remarks = _beam_width(levels)
    model = fitted_tree(
        offsets,
        order,
        weights,
        n_labels=levels[-1].weights.shape[1],
        n_features=n_features,
        beam_width=beam_width,
        score_function=_score_function(levels),
    )
    return model, remarks


def _read_levels(ranker: Path) -> list[_Level]:
    path = ranker / PECOS_PARAMETERS
    parameters = read_json(path)
    _check_class(parameters, path)
    depth = parameters.get("depth", len(list(ranker.glob(PECOS_LEVEL.format("*")))))
    if not isinstance(depth, int) or not 1 <= depth <= MOST_LEVELS:
        raise StoreError(f"{path}: 'depth' must be from 1 to {MOST_LEVELS}, got {depth!r}")
    levels = [_read_level(ranker / PECOS_LEVEL.format(d)) for d in range(depth)]
    n_clusters = 1
    for level in levels:
        n_children = level.weights.shape[1]
        if level.clusters.shape != (n_children, n_clusters):
            raise StoreError(
                f"{level.folder / 'C.npz'} has the shape {level.clusters.shape}, expected "
                f"{(n_children, n_clusters)} (columns of W.npz, children of the level above): "
                f"{COPY_AGAIN}"
            )
        n_clusters = n_children
    return levels


def _check_class(parameters: dict[str, Any], path: Path) -> None:
    """Refuse what is no tree of linear models in npz files."""
    if parameters.get("model") != "HierarchicalMLModel":
        raise StoreError(
            f"{path} describes a model of the class {parameters.get('model')!r}: of PECOS, only "
            "XR-Linear models (XLinearModel, Text2Text) can be imported; the encoder of an "
            "XR-Transformer cannot, train one with --model prime instead"
        )
    if parameters.get("is_mmap"):
        raise StoreError(
            f"{path} describes a model that was compiled for memory maps: import the folder that "
            "XLinearModel.save wrote, with W.npz and C.npz"
        )


def _read_level(folder: Path) -> _Level:
    path = folder / PECOS_PARAMETERS
    parameters = read_json(path)
    predicting = field(parameters, "pred_kwargs", dict, path)
    beam_width = predicting.get("only_topk") or NO_LIMIT
    if not isinstance(beam_width, int) or beam_width < 1:
        raise StoreError(f"{path}: 'only_topk' must be a whole number, got {beam_width!r}")
    level = _Level(
        folder,
        read_matrix(folder / "W.npz"),
        read_matrix(folder / "C.npz"),
        field(parameters, "bias", float, path),
        beam_width,
        field(predicting, "post_processor", str, path),
    )
    if not np.isfinite(level.bias):
        raise StoreError(f"{path}: 'bias' must be finite, got {level.bias}")
    if not 1 <= level.n_features < np.iinfo(np.int32).max:
        raise StoreError(f"{folder / 'W.npz'} has {level.n_features:,} features: {COPY_AGAIN}")
    level.clusters.eliminate_zeros()
    return level


def _children(level: _Level, order: IntArray) -> tuple[IntArray, IntArray]:
    """Return where the children of each cluster start, clusters in `order`, and which they are."""
    by_cluster = level.clusters[:, order]
    children: IntArray = by_cluster.indices.astype(np.int64)
    path = level.folder / "C.npz"
    if len(distinct(children)) < len(children):
        child = int(np.argmax(np.bincount(children)))
        raise StoreError(
            f"{path} has child {child} in several clusters: such models cannot be imported; train "
            "one with labels in several leaves here (--set overlap=2)"
        )
    counts = np.diff(by_cluster.indptr)
    if not len(children):
        raise StoreError(f"{path} has no clusters with children: {COPY_AGAIN}")
    return ends(counts), children


def _level_weights(level: _Level, offsets: IntArray, order: IntArray) -> LevelWeights:
    """Return the weights of a level, children in `order`."""
    columns = sp.csc_array(level.weights[:, order])
    parents = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    column = np.repeat(np.arange(len(order)), np.diff(columns.indptr))
    feature: IntArray = columns.indices.astype(np.int64)
    constant = feature == level.n_features
    bias = np.zeros(len(order), np.float32)
    bias[column[constant]] = columns.data[constant] * np.float32(level.bias)
    feature, value, column = feature[~constant], columns.data[~constant], column[~constant]
    cluster = parents[column]
    return level_of(
        Weights(feature, column - offsets[cluster], value, bias),
        cluster,
        n_clusters=len(offsets) - 1,
        n_features=level.n_features,
        source=level.folder / "W.npz",
    )


def _beam_width(levels: list[_Level]) -> tuple[int, tuple[str, ...]]:
    """Return how many clusters each level keeps, and a remark if levels differ in that."""
    beams = [level.beam_width for level in levels[:-1]] or [levels[0].beam_width]
    width = min(max(beams), max(level.weights.shape[1] for level in levels))
    if len(set(beams)) == 1:
        return width, ()
    kept = ", ".join(map(str, beams))
    return width, (f"its levels keep {kept} clusters, here each keeps {width}",)


def _score_function(levels: list[_Level]) -> str:
    names = {level.post_processor for level in levels}
    where = levels[0].folder.parent
    if len(names) > 1:
        raise StoreError(
            f"the levels in {where} have different post-processors ({', '.join(sorted(names))}); "
            "a model here has one: set one for all in PECOS and save it again"
        )
    (name,) = names
    if name == "noop" and len(levels) == 1:
        return "raw"
    if name in ("sigmoid", "log-sigmoid") or re.fullmatch(r"(log-)?l[1-9]-hinge", name):
        return name
    raise StoreError(
        f"the post-processor {name!r} of {where} cannot be imported for a tree of "
        f"{len(levels)} levels; it takes 'l3-hinge' (l1 to l9), 'log-l3-hinge', 'sigmoid' or "
        "'log-sigmoid': set one in PECOS and save the model again"
    )
