"""What does it cost to check a stored model before it is built? In seconds per gigabyte.

The models are generated in memory, of the sizes asked for: a tree of a million labels whose weights
are float16, and an index of label vectors with its graph. Only the checks are timed, on one thread
and on all; CPU seconds say what a quiet machine would take. Reading the files, and their checksums,
is another matter.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import numpy as np

from benchmarks.report import finish, rows_of, show
from multitudes.encoder.search.approximate import IndexConfig
from multitudes.labels import LabelTree
from multitudes.linear import XRLinear
from multitudes.linear.level_weights import LevelWeights, ends
from multitudes.store import State
from multitudes.store.checking import check

LEAF_SIZE, BRANCHING = 100, 100
N_FEATURES = 1_000_000
MOST_ENTRIES = 7  # of a row
BYTES_PER_ROW = 4 + 1 + (1 + MOST_ENTRIES) / 2 * (1 + 2)


def tree_state(gigabytes: float) -> State:
    """A fitted tree of three levels, with weights of random features."""
    n_leaves = BRANCHING**2
    rows = int(gigabytes * 1e9 / BYTES_PER_ROW / n_leaves)
    offsets = tuple(np.arange(n + 1) * BRANCHING for n in (1, BRANCHING, n_leaves))
    n_labels = n_leaves * LEAF_SIZE
    tree = LabelTree(offsets, np.arange(n_labels, dtype=np.int32), n_labels)
    sizes = [100, 100, rows]
    levels = [level(len(own) - 1, n) for own, n in zip(offsets, sizes, strict=True)]
    model = XRLinear()
    model._set_learned(tree, levels, N_FEATURES)
    return model.to_state()


def level(n_clusters: int, rows: int) -> LevelWeights:
    """Weights of clusters of a hundred children, as many rows in each."""
    rng = np.random.default_rng(n_clusters)
    n_rows = n_clusters * rows
    gaps = rng.integers(1, N_FEATURES // rows, (n_clusters, rows), dtype=np.int32)
    counts = rng.integers(1, MOST_ENTRIES + 1, n_rows)
    row_entry = ends(counts)
    child = np.cumsum(rng.integers(1, LEAF_SIZE // MOST_ENTRIES, row_entry[-1], dtype=np.uint8))
    child -= np.repeat(child[row_entry[:-1]], counts)
    return LevelWeights(
        np.arange(n_clusters + 1) * rows,
        (np.cumsum(gaps, axis=1, dtype=np.int32) - 1).ravel(),
        row_entry,
        child.astype(np.uint16),
        rng.random(len(child), np.float32).astype(np.float16),
        np.zeros(n_clusters * BRANCHING, np.float32),
        np.ones(n_clusters * BRANCHING, np.float32),
        np.ones(n_clusters, np.int64),
    )


def index_state(gigabytes: float, dim: int = 128) -> State:
    """An index of vectors with a graph whose links are random."""
    rng, config = np.random.default_rng(0), IndexConfig(kind="hnsw")
    n = int(gigabytes * 1e9 / (4 * dim + 4 * 2 * config.neighbors))
    levels = np.where(rng.random(n) < 1 / config.neighbors, 2, 1).astype(np.int32)
    room = config.neighbors * (levels.astype(np.int64) + 1)
    offsets = ends(room)
    links = rng.integers(0, n, offsets[-1], dtype=np.int32)
    high = np.flatnonzero(levels > 1)
    above = (offsets[high] + 2 * config.neighbors)[:, None] + np.arange(config.neighbors)
    links[above] = rng.choice(high, above.shape).astype(np.int32)
    arrays = {
        "vectors": rng.random((n, dim), np.float32),
        "levels": levels,
        "offsets": offsets.astype(np.uint64),
        "links": links,
        "entry": np.array([high[0], 1], np.int64),
    }
    return State("prototype-index", {"config": config.to_dict(), "kind": "hnsw"}, arrays)


def n_bytes(state: State) -> int:
    """Bytes of all arrays of a state and its parts."""
    own = sum(array.nbytes for array in state.arrays.values())
    return own + sum(n_bytes(part) for part in state.parts.values())


def seconds_of(state: State, rounds: int) -> tuple[float, float]:
    """Seconds, and those of processors: the least of some rounds, since others only add to it."""
    taken, worked = [], []
    for _ in range(rounds):
        start, begun = time.perf_counter(), time.process_time()
        check(state)
        taken.append(time.perf_counter() - start)
        worked.append(time.process_time() - begun)
    return min(taken), min(worked)


def measured(state: State, rounds: int) -> dict[str, Any]:
    """Seconds per gigabyte on one thread and on all."""
    check(state)  # compiles
    cores = os.sched_getaffinity(0)
    size = n_bytes(state) / 1e9
    found: dict[str, Any] = {"gigabytes": size}
    for name, allowed in (("one_thread", {min(cores)}), ("all_threads", cores)):
        os.sched_setaffinity(0, allowed)
        seconds, cpu_seconds = seconds_of(state, rounds)
        found |= {name: seconds / size, f"{name}_cpu": cpu_seconds / size}
    os.sched_setaffinity(0, cores)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=1.2, help="of each model")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-store", action="store_true", help="do not keep the results")
    options = parser.parse_args()
    makers = {"tree of a million labels": tree_state, "index with a graph": index_state}
    results = {
        name: measured(make(options.gigabytes), options.rounds) for name, make in makers.items()
    }
    columns = ["gigabytes", "one_thread", "one_thread_cpu", "all_threads", "all_threads_cpu"]
    rows = [[name, *(f"{one[c]:.3f}" for c in columns)] for name, one in results.items()]
    show("Seconds per gigabyte", ["", *columns], rows)
    settings = {"gigabytes": options.gigabytes, "rounds": options.rounds}
    finish("stored_checks", rows_of(results), settings=settings, store=not options.no_store)


if __name__ == "__main__":
    main()
