"""libpecos: PIFA, balanced hierarchical k-means and XLinearModel, with its own defaults.

Those are the settings of `benchmarks.trees.contestants`. Prediction uses HASH_CHUNKED, its fastest
layout.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel

from benchmarks.trees.contestants.process import (
    BEAM_WIDTH,
    TOP_K,
    Order,
    folder_bytes,
    load,
    matrix_mb,
    measured,
    save_labels,
    serve,
    small_problem,
    time_prediction,
)


def fit(order: Order, X: sp.csr_matrix, Y: sp.csr_matrix) -> XLinearModel:
    """Embed the labels, build the tree, train its rankers."""
    threads = order["n_jobs"]
    embeddings = LabelEmbeddingFactory.create(Y, X, method="pifa", threads=threads)
    tree = Indexer.gen(
        embeddings,
        indexer_type="hierarchicalkmeans",
        nr_splits=order["branching"],
        max_leaf_size=order["max_leaf_size"],
        seed=order["random_state"],
        threads=threads,
    )
    del embeddings
    return XLinearModel.train(X, Y, C=tree, threads=threads)


def train(order: Order) -> dict[str, Any]:
    """Fit, tree building included; then save, and predict the test instances."""
    X, Y = load(order["folder"], "X", "Y")
    fit(order, *small_problem(X, Y))
    model, cost = measured(lambda: fit(order, X, Y))
    model.save(order["model"])
    (X_test,) = load(order["folder"], "X_test")
    scores = predictor(order["model"]).predict(
        X_test, only_topk=TOP_K, beam_size=BEAM_WIDTH, threads=order["n_jobs"]
    )
    save_labels(order["labels"], ranked(scores))
    return {
        **cost,
        "data_mb": matrix_mb(X, Y),
        "clusters": [level.C.shape[1] for level in model.model.model_chain],
        "model_bytes": folder_bytes(order["model"]),
    }


def predict(order: Order) -> dict[str, Any]:
    """Predict with a saved model."""
    model = predictor(order["model"])
    settings = {"only_topk": TOP_K, "beam_size": BEAM_WIDTH}
    return time_prediction(
        order,
        lambda X: model.predict(X, threads=order["n_jobs"], **settings),
        lambda row: model.predict(row, threads=1, **settings),
    )


def predictor(path: str) -> XLinearModel:
    """A saved model in the layout that predicts fastest."""
    return XLinearModel.load(path, is_predict_only=True, weight_matrix_type="HASH_CHUNKED")


def ranked(scores: sp.csr_matrix) -> list[list[int]]:
    """The labels of each row, best first."""
    rows = zip(scores.indptr[:-1], scores.indptr[1:], strict=True)
    return [
        scores.indices[start:end][np.argsort(-scores.data[start:end], kind="stable")].tolist()
        for start, end in rows
    ]


if __name__ == "__main__":
    serve(train=train, predict=predict)
