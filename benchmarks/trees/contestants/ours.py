"""multitudes itself."""

from __future__ import annotations

import hashlib
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.trees.contestants.process import (
    BEAM_WIDTH,
    TOP_K,
    Order,
    folder_bytes,
    load,
    matrix_mb,
    measured,
    peak_mb,
    serve,
    small_problem,
    time_prediction,
)
from multitudes import memory
from multitudes.disentangle import Disentangled
from multitudes.linear import XRLinear
from multitudes.memory import parse_size
from multitudes.store import load as load_model
from multitudes.store import save

SMALL_LEAVES = 10  # labels of a leaf in the small problem
LARGE_MODELS = "8GB"
"""What predicting may take in memory where training has no limit: other work goes on beside it."""


def estimator(order: Order) -> Any:
    """What the order asks for, unfitted: a tree, or one whose labels may have several leaves."""
    tree = XRLinear(
        branching=order["branching"],
        max_leaf_size=order["max_leaf_size"],
        beam_width=BEAM_WIDTH,
        score_function=order.get("score", "l3-hinge"),
        weights=order.get("weights", "float16"),
        random_state=order["random_state"],
        n_jobs=order["n_jobs"],
    )
    overlap = order.get("overlap", 1)
    return tree if overlap == 1 else Disentangled(tree, overlap=overlap)


def train(order: Order) -> dict[str, Any]:
    """Fit, tree building included; then save, and predict the test instances."""
    limit = order.get("memory_limit")
    if limit is None:
        X, Y = load(order["folder"], "X", "Y")
    else:
        from multitudes.data.pieces import open_pieces  # not in the memory of other trials

        pieces = open_pieces(f"{order['folder']}/pieces")
        X, Y = pieces.X, pieces.Y
    X_small, Y_small = small_problem(X, Y)
    # Labels in several leaves need several leaves.
    several = {"max_leaf_size": SMALL_LEAVES} if order.get("overlap", 1) > 1 else {}
    estimator({**order, **several}).fit(X_small, Y_small)
    with held_to(limit), memory.limited(limit):
        model, cost = measured(lambda: estimator(order).fit(X, Y))
        save(model, order["model"])
        tree = trees_of(model)[0].tree_
        clusters = [tree.n_clusters(level) for level in range(tree.depth)]
        del model
        (X_test,) = load(order["folder"], "X_test")
        with memory.limited(limit or LARGE_MODELS):
            stored: Any = load_model(order["model"])
            np.save(order["labels"], stored.predict(X_test, top_k=TOP_K).labels)
    return {
        **cost,
        "peak_with_prediction_mb": peak_mb(),
        "sha256": model_hash(order["model"]),
        "data_mb": matrix_mb(X, Y),
        "clusters": clusters,
        "model_bytes": folder_bytes(order["model"]),
    }


@contextmanager
def held_to(limit: str | None) -> Iterator[None]:
    """Let the system refuse more memory than the limit, but for files that are only mapped."""
    if limit is None:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (parse_size(limit), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def model_hash(folder: str) -> str:
    """One number for all arrays of a stored model."""
    digest = hashlib.sha256()
    for path in sorted(Path(folder).rglob("*.safetensors"), key=lambda path: path.parts[-2:]):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def trees_of(model: Any) -> list[Any]:
    """The trees of a model: itself, or those inside it."""
    trees: list[Any] = getattr(model, "models_", [model])
    return trees


def predict(order: Order) -> dict[str, Any]:
    """Predict with a saved model."""
    model: Any = load_model(order["model"])

    def on_threads(n_jobs: int, X: Any) -> Any:
        for own in trees_of(model):
            own.n_jobs = n_jobs
        return model.predict(X, top_k=TOP_K)

    return time_prediction(
        order, lambda X: on_threads(order["n_jobs"], X), lambda row: on_threads(1, row)
    )


def compile_time(order: Order) -> dict[str, Any]:
    """The first fit and predictions of this process, and the same once more."""
    X, Y, X_test = load(order["folder"], "X", "Y", "X_test")

    def use() -> None:
        model = estimator(order).fit(X, Y)
        model.predict(X_test, top_k=TOP_K)
        model.predict(X_test[:1], top_k=TOP_K)

    return {"first": measured(use)[1], "second": measured(use)[1]}


if __name__ == "__main__":
    serve(train=train, predict=predict, compile_time=compile_time)
