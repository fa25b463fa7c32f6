"""Train a tagger on shards: read, count, embed, cluster and train, on a cluster or right here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from multitudes.engine import Cluster, LocalCluster, current_cluster
from multitudes.errors import ConfigError, DataError
from multitudes.labels import LabelTree
from multitudes.linear import XRLinear
from multitudes.linear.checkpoint import NOT_IN_RESULT
from multitudes.shards.clustering import Embeddings, grow_tree
from multitudes.shards.counting import COUNTING, Source
from multitudes.shards.embedding import EMBEDDING
from multitudes.shards.levels import TreeWork, stored_level, train_levels
from multitudes.shards.merging import Merger
from multitudes.shards.pieces import PIECES, Pieces
from multitudes.shards.places import find_shards
from multitudes.shards.run import Run
from multitudes.store import State
from multitudes.tagger import Tagger
from multitudes.tagger.assembly import assemble
from multitudes.version import __version__

RANGES = 64
"""Ranges of labels that are embedded at a time, at least; more if labels are many."""
LABELS = 1 << 16
"""Labels of a range at most."""


def train_shards(
    tagger: Tagger,
    shards: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    model: str | os.PathLike[str],
    *,
    run: str | os.PathLike[str],
    format: str | None = None,
    reading: Mapping[str, Any] | None = None,
    cluster: Cluster | None = None,
) -> None:
    """Train a tagger on data that no machine need hold, and save it.

    The model is the one that ``tagger.fit`` makes of the same files one after the other, bit for
    bit, on any number of machines. Neither texts nor features pass through this process. What is
    finished is kept in `run`: called again after a crash, it goes on from there.

    Parameters
    ----------
    tagger : Tagger
        Unfitted; its model is "xr-linear" (or "auto", which is that here), without overlap, with
        sibling negatives; its features TF-IDF, or those that the shards hold.
    shards : path, pattern or URL, or several
        Files of any format, folders of them, patterns (``"data/*.jsonl"``), or URLs of fsspec
        (``"s3://bucket/data/*.jsonl.gz"``). Several per core share the work best.
    model : path
        Folder of the model.
    run : path or URL
        Folder for what is finished, seen by all machines; it needs about three times the room
        of the features and stays until it is removed.
    format, reading : optional
        As `read_dataset` takes them: the name of a format, and settings of `ReadOptions`.
    cluster : Cluster, optional
        Where to work; defaults to the `ray_cluster` in use, or to this machine's threads.
    """
    cluster = cluster or current_cluster() or LocalCluster(tagger.n_jobs)
    places = find_shards(shards)
    estimator, features = _parts(tagger)
    source = Source.of(features, format, reading or {})
    work = Run.open(run, _about(tagger, estimator, source, places))
    pieces, fitted, names = read_shards(work, cluster, source, places)
    tree = _tree(work, cluster, pieces, estimator)
    training = TreeWork(pieces, tree, estimator.solver, estimator.weights, estimator.random_state)
    train_levels(cluster, training)
    levels: Any = [MappedLevel(work, level) for level in range(tree.depth)]
    estimator._set_learned(tree, levels, pieces.n_features)
    fitted_tagger = clone(tagger, safe=False)  # its weights are files of the run
    _set_fitted(fitted_tagger, estimator, fitted, names)
    fitted_tagger.save(model)


def read_shards(
    run: Run, cluster: Cluster, source: Source, places: list[str]
) -> tuple[Pieces, Any, tuple[str, ...]]:
    """Return the instances of all shards as pieces, the fitted features, and the label names."""
    ones = [1.0] * len(places)
    merger = Merger(run, source)
    run.map(cluster, COUNTING, source, places, costs=ones, finished=merger.add)
    labels = merger.labels()
    if not labels.n_labels:
        raise DataError("there is nothing to learn from: no shard has an instance with a label")
    fitted = merger.features()
    run.map(cluster, PIECES, source.tfidf, range(len(places)), costs=ones)
    pieces = Pieces.of(run, len(places), fitted.n_features_, labels.n_labels)
    numbers = (str(label) for label in range(labels.n_labels))
    return pieces, fitted, tuple(numbers if labels.names is None else labels.names)


def _parts(tagger: Tagger) -> tuple[XRLinear, Any]:
    """Return the unfitted model and features of a tagger; refuse what shards cannot train."""
    from multitudes.data import Dataset

    spec = tagger._spec()
    if spec.model == "auto":
        spec = spec._replace(model="xr-linear")
    some_texts = Dataset.from_lists(["a text"], [["a label"]])  # shards of features: see `Source`
    parts = assemble(spec, some_texts, from_groups=False)
    model = parts.model
    if type(model) is not XRLinear or model.tree is not None or tagger.budget is not None:
        raise ConfigError(
            "shards train the model xr-linear, without overlap, members, groups or a budget: take "
            "it, or train on one machine from one file"
        )
    if model.negatives != "sibling":
        raise ConfigError(
            f"shards train with negatives='sibling', got {model.negatives!r}: others need the "
            "predictions of all instances between levels"
        )
    model._check_settings()
    return model, parts.features


def _about(tagger: Tagger, model: XRLinear, source: Source, places: list[str]) -> dict[str, Any]:
    """Return what the result depends on."""
    settings = {**model.get_params(deep=False), "solver": asdict(model.solver)}
    without = {*NOT_IN_RESULT, "tree"}
    return {
        "shards": places,
        "model": {k: v for k, v in settings.items() if k not in without},
        "features": None if source.tfidf is None else source.tfidf.to_dict() | {"n_jobs": None},
        "reading": [source.format, dict(source.reading)],
        "version": __version__,
    }


def _tree(run: Run, cluster: Cluster, pieces: Pieces, model: XRLinear) -> LabelTree:
    """Embed the labels and cluster them."""
    n_ranges = max(RANGES, -(-pieces.n_labels // LABELS))
    bounds = np.unique(np.linspace(0, pieces.n_labels, n_ranges + 1).astype(int)).tolist()
    ranges = list(pairwise(bounds))
    run.map(cluster, EMBEDDING, pieces, ranges, costs=[float(b - a) for a, b in ranges])
    return grow_tree(
        cluster,
        Embeddings(run, tuple(bounds), pieces.n_features),
        branching=model.branching,
        max_leaf_size=model.max_leaf_size,
        seed=model.random_state,
    )


def _set_fitted(tagger: Tagger, model: XRLinear, features: Any, names: tuple[str, ...]) -> None:
    tagger.model_, tagger.features_, tagger.classes_ = model, features, names
    tagger.choice_ = "xr-linear, trained on shards"
    tagger.takes_texts_ = hasattr(features, "idf_")
    tagger.feature_names_ = tagger.group_report_ = tagger.calibrated_ = None
    tagger.titles_, tagger.examples_, tagger.auto_report_ = {}, {}, None


class MappedLevel:
    """A level whose arrays lie in a file of the run: they go from there to the store."""

    def __init__(self, run: Run, level: int) -> None:
        self._run, self._level = run, level

    def to_state(self) -> State:
        """Return the mapped arrays, and where they lie."""
        return stored_level(self._run, self._level)
