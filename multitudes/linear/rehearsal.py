"""Each stage of a tree's life on a handful of values, so that its kernels are compiled ahead.

See `multitudes.kernels.ahead`. Types of arrays are those that `TreeEstimator` works with: others
would be compiled in vain.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from multitudes import progress
from multitudes.kernels import ahead
from multitudes.kernels.ahead import CLUSTERING, INDEX, SEARCH, SOLVER
from multitudes.kernels.clustering.kmeans import split_sparse_nodes
from multitudes.kernels.search import index
from multitudes.kernels.search.beam_search import search_block
from multitudes.kernels.search.index import SearchArrays
from multitudes.kernels.solver.clusters import fill_kept
from multitudes.kernels.threads import ThreadTeam
from multitudes.labels import LabelTree, pifa
from multitudes.labels.tree_building import build_tree
from multitudes.linear.checkpoint import Checkpoint
from multitudes.linear.level_weights import Chunk, LevelWeights
from multitudes.linear.scoring import scoring
from multitudes.linear.search_index import build_arrays, own_numbers
from multitudes.linear.tasks import SolverConfig
from multitudes.linear.train_tree import TreeTask, train_tree
from multitudes.types import Sparse, room_for_lists

LAST_KERNELS = {
    CLUSTERING: split_sparse_nodes,
    SOLVER: fill_kept,
    INDEX: index.fill_chunks,
    SEARCH: search_block,
}
N_LABELS, N_FEATURES = 256, 64


def compile_ahead(*, from_texts: bool = False) -> None:
    """Let a second process compile what this one will need, if it is not in the cache.

    While texts are counted there is time for the clustering. Without, this process is about to
    cluster by itself. The search takes longest of all that is left and is used last, so it is the
    helper's; of the others this process takes what the helper has not begun.
    """
    order = (CLUSTERING, SEARCH, SOLVER, INDEX) if from_texts else (SEARCH, SOLVER, INDEX)
    ahead.start(__name__, {stage: (LAST_KERNELS[stage], REHEARSALS[stage]) for stage in order})


def cluster() -> None:
    """Make label embeddings and a tree."""
    X, Y = _problem()
    build_tree(pifa(X, Y, n_jobs=1), branching=4, max_leaf_size=16, n_jobs=1)


def solve() -> None:
    """Train all levels of a tree."""
    X, Y = _problem()
    with progress.hushed(), ThreadTeam(1) as team:
        train_tree(TreeTask(X, Y, SolverConfig()), _tree(), team, Checkpoint(None, ""))


def lay_out() -> None:
    """Make the index of made-up weights that a search reads."""
    tree = _tree()
    levels = [_weights(offsets).converted("float16", offsets) for offsets in tree.offsets]
    build_arrays(tree, levels, N_FEATURES)


def search() -> None:
    """Search for no instance, in an index of nothing: its kernels are of another stage."""
    nothing = SearchArrays(
        level_start=np.zeros(1, np.int64),
        cluster=np.zeros((0, index.N_COLUMNS), np.int64),
        block_mask=np.zeros(0, np.int32),
        block_line=np.zeros(0, np.float32),
        group=np.zeros(0, np.int32),
        code=np.zeros(0, np.uint16),
        slot_labels=own_numbers(0),
        largest_chunk=1,
        wide=0,
    )
    rule = scoring("l3-hinge")
    labels, scores = room_for_lists(0, 5)
    search_block(
        np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), 0, nothing,
        10, rule.kind, rule.power, labels, scores,
    )  # fmt: skip


def _problem() -> tuple[Sparse, Sparse]:
    """Two features and a label for each instance; each label twice."""
    n = 2 * N_LABELS
    rows = np.arange(n, dtype=np.int64)
    features = np.stack([rows % 31, 31 + rows % 33], axis=1).reshape(-1).astype(np.int32)
    shape = (n, N_FEATURES)
    values = np.full(2 * n, 0.5**0.5, np.float32)
    X = sp.csr_array((values, features, 2 * np.arange(n + 1, dtype=np.int64)), shape=shape)
    labels = (rows % N_LABELS).astype(np.int32)
    Y = sp.csr_array((np.ones(n, np.float32), labels, np.arange(n + 1)), shape=(n, N_LABELS))
    for matrix in (X, Y):
        matrix.indptr = matrix.indptr.astype(np.int64)  # SciPy has chosen int32
    return X, Y


def _tree() -> LabelTree:
    return LabelTree.from_leaves(np.arange(N_LABELS).reshape(-1, 32).tolist())


def _weights(offsets: np.ndarray) -> LevelWeights:
    """A weight of one for each child of each cluster."""
    chunks = [
        Chunk(
            np.arange(n, dtype=np.int32) % N_FEATURES,
            np.arange(n + 1, dtype=np.int64),
            np.arange(n, dtype=np.uint16),
            np.ones(n, np.float32),
            np.zeros(n, np.float32),
        )
        for n in np.diff(offsets)
    ]
    return LevelWeights.from_chunks(chunks, np.ones(len(chunks), np.int64))


REHEARSALS = {CLUSTERING: cluster, SOLVER: solve, INDEX: lay_out, SEARCH: search}

if __name__ == "__main__":
    ahead.rehearse(Path(sys.argv[1]), {stage: REHEARSALS[stage] for stage in sys.argv[2:]})
