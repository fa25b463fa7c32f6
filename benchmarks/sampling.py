"""What batches, clusters of instances and the search for labels cost: ``benchmarks.sampling``.

Run ``python -m benchmarks.sampling``. Generated data of about the size of lf-msdocs-links: labels
with a long tail, and unit vectors in clusters. CPU seconds count all threads of the process.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from benchmarks.report import finish, rows_of, show
from multitudes.encoder.sampling import BatchSampler, SamplerConfig
from multitudes.encoder.sampling.clusters import Clusters, cluster_instances
from multitudes.encoder.search.approximate import IndexConfig
from multitudes.encoder.search.index import PrototypeIndex
from multitudes.types import FloatArray, Predictions

BATCH_SIZE = 3200
CLUSTER_SIZES = (8, 64, 1024)
N_QUERIES = 256


def measured(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What some work returns, its seconds and its CPU seconds."""
    start, cpu_start = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - start, time.process_time() - cpu_start


def long_tailed_labels(n_instances: int, n_labels: int) -> Any:
    """Y (n_instances, n_labels) with about 4.7 labels an instance, most of them rare."""
    rng = np.random.default_rng(0)
    counts = rng.geometric(1 / 4.7, n_instances)
    ranks = (n_labels ** rng.random(counts.sum())).astype(np.int64) - 1
    spread = rng.integers(0, n_labels, counts.sum())
    columns = np.where(rng.random(counts.sum()) < 0.5, ranks, spread)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    Y = sp.csr_array((np.ones(len(columns), np.float32), columns, indptr), (n_instances, n_labels))
    Y.sum_duplicates()
    Y.data[:] = 1
    return Y


def clustered_vectors(n: int, dim: int, *, per_cluster: int = 60) -> FloatArray:
    """Unit vectors (n, dim) around random centers."""
    rng = np.random.default_rng(1)
    centers = rng.standard_normal((max(1, n // per_cluster), dim), dtype=np.float32)
    vectors = centers[rng.integers(0, len(centers), n)]
    vectors += 0.7 * rng.standard_normal((n, dim), dtype=np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def time_batches(Y: Any) -> dict[str, Any]:
    """Milliseconds a batch takes, the median of an epoch's."""
    results = {}
    for positives, fixed in ((1, False), (2, False), (2, True)):
        config = SamplerConfig(
            batch_size=BATCH_SIZE, positives=positives, fixed_n_labels=fixed, clustered=False
        )
        batches = BatchSampler(Y, config, epochs=20).batches(0)
        next(batches)  # compiles
        n_timed = min(50, Y.shape[0] // BATCH_SIZE - 1)
        times = [measured(lambda batches=batches: next(batches))[1] for _ in range(n_timed)]
        name = f"{positives} positives" + (", fixed number of labels" if fixed else "")
        results[name] = {"milliseconds": 1e3 * float(np.median(times))}
    return results


def time_clustering(embeddings: FloatArray, n_jobs: int | None) -> dict[str, Any]:
    """Seconds to cluster all instances, and how alike the instances of a cluster are."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    instances = np.arange(len(embeddings))
    kept = torch.from_numpy(embeddings.astype(np.float16)).to(device)
    cluster_instances(kept, instances[:5000], size=8, random_state=0)  # compiles
    results = {}
    for size in CLUSTER_SIZES:
        clusters, seconds, cpu_seconds = measured(
            lambda size=size: cluster_instances(
                kept, instances, size=size, random_state=0, n_jobs=n_jobs
            )
        )
        results[f"clusters of {size}"] = {
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
            "mean_cosine": mean_cosine(embeddings, clusters),
        }
    return results


def mean_cosine(embeddings: FloatArray, clusters: Clusters) -> float:
    """Mean cosine of two different instances of one cluster."""
    sums = np.add.reduceat(embeddings[clusters.instances], clusters.offsets[:-1], axis=0)
    sizes = np.diff(clusters.offsets)
    pairs = (sums**2).sum(axis=1) - sizes  # each pair twice; an instance with itself is 1
    return float(pairs.sum() / (sizes * (sizes - 1)).sum())


def time_search(vectors: FloatArray, kinds: list[str]) -> dict[str, Any]:
    """Seconds to build each index, milliseconds of a search, and recall of flat's ten best."""
    rng = np.random.default_rng(2)
    queries = vectors[:N_QUERIES] + 0.03 * rng.standard_normal(
        (N_QUERIES, vectors.shape[1]), dtype=np.float32
    )
    truth = PrototypeIndex(vectors, IndexConfig(kind="flat")).search(queries, 10)
    results = {}
    for kind in kinds:
        index, build, _ = measured(
            lambda kind=kind: PrototypeIndex(vectors, IndexConfig(kind=kind))
        )
        index.search(queries[:8], 10)
        found, batch, _ = measured(lambda index=index: index.search(queries, 10))
        single = [
            measured(lambda index=index, i=i: index.search(queries[i : i + 1], 10))[1]
            for i in range(20)
        ]
        results[kind] = {
            "build_seconds": build,
            "milliseconds_in_batch": 1e3 * batch / N_QUERIES,
            "milliseconds_single": 1e3 * float(np.median(single)),
            "recall_at_10": recall(found, truth),
        }
    return results


def recall(found: Predictions, truth: Predictions) -> float:
    """Part of the true best that was found."""
    hits = (found.labels[:, :, None] == truth.labels[:, None, :]).sum()
    return float(hits / truth.labels.size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=190_218)
    parser.add_argument("--labels", type=int, default=191_611)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--threads", type=int, help="CPU threads that cluster; all cores but two")
    parser.add_argument("--kinds", nargs="*", default=["flat", "hnsw", "ivf-pq"])
    parser.add_argument("--store", action="store_true", help="keep the results")
    options = parser.parse_args()
    embeddings = clustered_vectors(options.instances, options.dim)
    results = {
        "batches": time_batches(long_tailed_labels(options.instances, options.labels)),
        "clustering": time_clustering(embeddings, options.threads),
        "search": time_search(clustered_vectors(options.labels, options.dim), options.kinds),
    }
    for name, rows in results.items():
        columns = list(next(iter(rows.values()), {}))
        table = [[row, *(f"{values[c]:.3f}" for c in columns)] for row, values in rows.items()]
        show(name, ["", *columns], table)
    finish("sampling", rows_of(results), settings=vars(options), store=options.store)


if __name__ == "__main__":
    main()
