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
