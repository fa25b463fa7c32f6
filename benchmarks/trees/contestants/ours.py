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
from multitudes.linear import XRLinear
from multitudes.memory import parse_size
from multitudes.store import load as load_model
from multitudes.store import save

LARGE_MODELS = "8GB"
"""What predicting may take in memory where training has no limit: other work goes on beside it."""


def estimator(order: Order) -> XRLinear:
    """What the order asks for, unfitted."""
    return XRLinear(
        branching=order["branching"],
        max_leaf_size=order["max_leaf_size"],
        beam_width=BEAM_WIDTH,
        score_function=order.get("score", "l3-hinge"),
        weights=order.get("weights", "float16"),
        random_state=order["random_state"],
        n_jobs=order["n_jobs"],
    )


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
    estimator(order).fit(X_small, Y_small)
    with held_to(limit), memory.limited(limit):
        model, cost = measured(lambda: estimator(order).fit(X, Y))
        save(model, order["model"])
        clusters = [model.tree_.n_clusters(level) for level in range(model.tree_.depth)]
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


def predict(order: Order) -> dict[str, Any]:
    """Predict with a saved model."""
    model: Any = load_model(order["model"])
    model.n_jobs = order["n_jobs"]
    one: Any = load_model(order["model"])
    one.n_jobs = 1
    return time_prediction(
        order,
        lambda X: model.predict(X, top_k=TOP_K),
        lambda row: one.predict(row, top_k=TOP_K),
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
