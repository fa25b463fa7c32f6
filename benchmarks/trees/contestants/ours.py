"""multitudes itself."""

from __future__ import annotations

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
    serve,
    small_problem,
    time_prediction,
)
from multitudes.disentangle import Disentangled
from multitudes.linear import XRLinear
from multitudes.store import load as load_model
from multitudes.store import save


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
    X, Y = load(order["folder"], "X", "Y")
    X_small, Y_small = small_problem(X, Y)
    estimator(order).fit(X_small, Y_small)
    model, cost = measured(lambda: estimator(order).fit(X, Y))
    save(model, order["model"])
    (X_test,) = load(order["folder"], "X_test")
    np.save(order["labels"], model.predict(X_test, top_k=TOP_K).labels)
    return {
        **cost,
        "data_mb": matrix_mb(X, Y),
        "clusters": [model.tree_.n_clusters(level) for level in range(model.tree_.depth)],
        "model_bytes": folder_bytes(order["model"]),
    }


def train_overlap(order: Order) -> dict[str, Any]:
    """Fit the same model with labels in two leaves, and save it."""
    X, Y = load(order["folder"], "X", "Y")
    model, cost = measured(lambda: Disentangled(estimator(order), overlap=2).fit(X, Y))
    save(model, order["model"])
    return cost


def predict(order: Order) -> dict[str, Any]:
    """Predict with a saved model."""
    model: Any = load_model(order["model"])

    def on_threads(n_jobs: int, X: Any) -> Any:
        for own in getattr(model, "models_", [model]):
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
    serve(train=train, train_overlap=train_overlap, predict=predict, compile_time=compile_time)
