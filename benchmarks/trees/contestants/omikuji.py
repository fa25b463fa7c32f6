"""omikuji: Parabel, one tree.

Its defaults but for the number of trees; it stops a ranker after 20 epochs, where others go up to
100. It has no seed, trains from a file, and reads that file before the clock starts.
"""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp
from omikuji import Model
from omikuji._libomikuji import ffi, lib

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
    """Fit one tree; then save, and predict the test instances."""
    settings = Model.default_hyper_param()
    settings.n_trees = 1
    settings.cluster_k = order["branching"]
    settings.min_branch_size = order["max_leaf_size"]
    pool = ffi.gc(lib.init_omikuji_thread_pool(order["n_jobs"]), lib.free_omikuji_thread_pool)
    path = ffi.new("char[]", f"{order['folder']}/train.txt".encode())
    data = ffi.gc(lib.load_omikuji_data_set(path, pool), lib.free_omikuji_data_set)
    pointer, cost = measured(lambda: lib.train_omikuji_model(data, settings, pool))
    model = Model(pointer)
    model.save(order["model"])
    (X_test,) = load(order["folder"], "X_test")
    save_labels(order["labels"], predicted(model, X_test))
    return {**cost, "model_bytes": folder_bytes(order["model"])}


def predicted(model: Model, X: sp.csr_matrix) -> list[list[int]]:
    """The labels of each row, best first; omikuji takes one instance at a time."""
    rows = []
    for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        pairs = list(zip(X.indices[start:end].tolist(), X.data[start:end].tolist(), strict=True))
        found = model.predict(pairs, beam_size=BEAM_WIDTH, top_k=TOP_K)
        rows.append([label for label, _ in found])
    return rows


if __name__ == "__main__":
    serve(train=train)
