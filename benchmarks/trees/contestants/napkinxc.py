"""napkinXC: a probabilistic label tree over balanced 2-means, with LIBLINEAR's squared hinge.

It writes its model to disk while it trains, and the clock includes that.
"""

from __future__ import annotations

from typing import Any

from napkinxc.models import PLT

from benchmarks.trees.contestants.process import (
    BEAM_WIDTH,
    TOP_K,
    Order,
    folder_bytes,
    load,
    measured,
    save_labels,
    serve,
)


def train(order: Order) -> dict[str, Any]:
    """Fit one tree; then predict the test instances."""
    X, Y = load(order["folder"], "X", "Y")
    model = PLT(
        order["model"],
        tree_type="hierarchicalKmeans",
        arity=order["branching"],
        max_leaves=order["max_leaf_size"],
        loss="l2",
        liblinear_c=1,
        liblinear_eps=0.1,
        liblinear_max_iter=100,
        weights_threshold=0.1,
        tree_search_type="beam",
        beam_search_width=BEAM_WIDTH,
        seed=order["random_state"],
        threads=order["n_jobs"],
    )
    _, cost = measured(lambda: model.fit(X, Y))
    (X_test,) = load(order["folder"], "X_test")
    save_labels(order["labels"], model.predict(X_test, top_k=TOP_K))
    return {**cost, "model_bytes": folder_bytes(order["model"])}


if __name__ == "__main__":
    serve(train=train)
