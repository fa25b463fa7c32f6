"""XRLinear against libpecos, run in its own environment: the same tree, and the same precision."""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.data import ReadOptions, read_dataset
from multitudes.features import TfidfFeatures
from multitudes.labels import build_tree, pifa
from multitudes.linear import SolverConfig, XRLinear
from multitudes.metrics import precision_at_k
from multitudes.types import Predictions

PEER = Path(__file__).resolve().parents[2] / ".peers" / "pecos" / "bin" / "python"

pytestmark = pytest.mark.skipif(not PEER.exists(), reason=f"libpecos is not installed in {PEER}")

SCRIPT = """
import glob, json, sys
import scipy.sparse as sp
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.base import ClusterChain
from pecos.xmc.xlinear.model import XLinearModel
folder, order = sys.argv[1], json.loads(sys.argv[2])
X, Y, X_test = (sp.load_npz(f"{folder}/{name}.npz").tocsr() for name in ("X", "Y", "X_test"))
for turn, seed in enumerate(order["seeds"]):
    files = sorted(glob.glob(f"{folder}/level-*.npz"))
    if files:
        tree = ClusterChain([sp.load_npz(name).tocsc() for name in files])
    else:
        embeddings = LabelEmbeddingFactory.create(Y, X, method="pifa")
        tree = Indexer.gen(embeddings, indexer_type="hierarchicalkmeans", seed=seed)
    model = XLinearModel.train(X, Y, C=tree, **order["train"])
    found = model.predict(X_test, **order["predict"])
    sp.save_npz(f"{folder}/found-{turn}.npz", found.tocsr())
"""


def pecos_predictions(folder, matrices, *, seeds=(0,), train=None, **predict):
    """What libpecos predicts for X_test, one sparse matrix of scores for each seed."""
    for name, matrix in matrices.items():
        sp.save_npz(folder / f"{name}.npz", sp.csr_matrix(matrix).astype(np.float32))
    order = {"seeds": list(seeds), "train": train or {}, "predict": predict}
    script = folder / "peer.py"
    script.write_text(SCRIPT)
    subprocess.run([PEER, script, folder, json.dumps(order)], check=True, capture_output=True)
    return [sp.csr_array(sp.load_npz(folder / f"found-{i}.npz")) for i in range(len(seeds))]


def generated(seed=0, n=400, n_features=50, n_labels=90):
    """Instances whose labels show in their features, rows of length 1."""
    rng = np.random.default_rng(seed)
    Y = rng.random((n, n_labels)) < 0.03
    Y[np.arange(n), rng.integers(0, n_labels, n)] = True
    X = Y @ rng.random((n_labels, n_features)) ** 4 + 0.3 * rng.random((n, n_features)) ** 8
    X *= rng.random(X.shape) < 0.5
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    return sp.csr_array(X.astype(np.float32)), sp.csr_array(Y.astype(np.float32))


def as_chain(tree):
    """The tree as libpecos takes it: (children, clusters) of each level."""
    chain = {}
    for level in range(tree.depth):
        n = tree.n_clusters(level + 1)
        parents = tree.parents(level)
        children = np.arange(n) if level < tree.depth - 1 else tree.slot_labels
        chain[f"level-{level}"] = sp.csr_array(
            (np.ones(n, np.float32), (children, parents)), shape=(n, tree.n_clusters(level))
        )
    return chain


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("squared-hinge", "L2R_L2LOSS_SVC_DUAL"), ("hinge", "L2R_L1LOSS_SVC_DUAL")],
)
@pytest.mark.parametrize("score", ["l3-hinge", "sigmoid"])
def test_one_tree_run_to_convergence_scores_the_same(tmp_path, ours, theirs, score):
    X, Y = generated()
    tree = build_tree(pifa(X, Y), branching=4, max_leaf_size=6)
    assert tree.depth > 2
    [expected] = pecos_predictions(
        tmp_path,
        {"X": X, "Y": Y, "X_test": X, **as_chain(tree)},
        train={"threshold": 0.0, "eps": 1e-4, "max_iter": 5000, "Cp": 2.0, "solver_type": theirs},
        beam_size=tree.n_leaves,
        only_topk=90,
        post_processor=score,
    )
    solver = SolverConfig(
        loss=ours, threshold=0, epsilon=1e-4, max_epochs=5000, positive_weight=2.0
    )
    model = XRLinear(tree=tree, solver=solver, weights="float32", score_function=score).fit(X, Y)
    found = model.predict(X, top_k=90, beam_width=tree.n_leaves).to_csr()
    np.testing.assert_allclose(found.toarray(), expected.toarray(), atol=2e-3)


@pytest.mark.parametrize("beam_width", [1, 3, 10])
def test_beams_keep_the_same_labels(tmp_path, beam_width):
    X, Y = generated(seed=1)
    tree = build_tree(pifa(X, Y), branching=4, max_leaf_size=6)
    [expected] = pecos_predictions(
        tmp_path,
        {"X": X, "Y": Y, "X_test": X, **as_chain(tree)},
        train={"threshold": 0.0, "eps": 1e-4, "max_iter": 5000},
        beam_size=beam_width,
        only_topk=5,
    )
    solver = SolverConfig(threshold=0, epsilon=1e-4, max_epochs=5000)
    model = XRLinear(tree=tree, solver=solver, weights="float32").fit(X, Y)
    found = model.predict(X, top_k=5, beam_width=beam_width)
    same = [
        set(row[row >= 0].tolist()) == set(expected.indices[start:end].tolist())
        for row, (start, end) in zip(found.labels, pairwise(expected.indptr), strict=True)
    ]
    # Weights agree to about 1e-4, so only near-ties may differ.
    assert np.mean(same) > 0.97


@pytest.mark.real
def test_precision_on_titles_of_eu_acts_is_that_of_libpecos(tmp_path, shared_data):
    source, seeds = shared_data("eurlex-titles"), (0, 1, 2)
    training = read_dataset(source, options=ReadOptions(split="trn"))
    test = read_dataset(source, labels=training, options=ReadOptions(split="tst"))
    features = TfidfFeatures()
    X, X_test = features.fit_transform(training.texts), features.transform(test.texts)
    theirs = pecos_predictions(
        tmp_path,
        {"X": X, "Y": training.Y, "X_test": X_test},
        seeds=seeds,
        beam_size=10,
        only_topk=5,
    )
    ours = [XRLinear(random_state=seed).fit(X, training.Y).predict(X_test) for seed in seeds]
    for k in (1, 3, 5):
        expected = [precision_at_k(Predictions.from_csr(p, 5), test.Y, k=k) for p in theirs]
        found = [precision_at_k(p, test.Y, k=k) for p in ours]
        assert 100 * abs(np.mean(found) - np.mean(expected)) < 0.5, (k, found, expected)
