"""Label trees against brute force: every path scored by a dense product, no beam, no index."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from campaigns.differential.problems import Problem, Rng, by_label, drawn_problem, hold
from campaigns.framework import SilentChange

SCORES = ("l1-hinge", "l2-hinge", "l3-hinge", "sigmoid", "log-sigmoid", "raw")
RTOL, ATOL = 5e-4, 1e-5  # sums of up to 40 products in float32, and their third power


def settings(rng: Rng) -> dict[str, Any]:
    """Settings of a tree."""
    return {
        "branching": int(rng.integers(2, 9)),
        "max_leaf_size": int(rng.integers(1, 12)),
        "score_function": str(rng.choice(SCORES)),
        "weights": str(rng.choice(["float32", "float16", "int8"])),
        "negatives": str(rng.choice(["sibling", "matched", "both"])),
        "random_state": int(rng.integers(100)),
        "n_jobs": int(rng.integers(1, 4)),
    }


def dense(level: Any, offsets: Any, n_features: int) -> Any:
    """Weights (n_children, n_features) of a level, as stored."""
    out = np.zeros((offsets[-1], n_features))
    for cluster in range(level.n_clusters):
        first, count = offsets[cluster], offsets[cluster + 1] - offsets[cluster]
        chunk = level.chunk(cluster, first, count)
        features = np.repeat(chunk.row_feature, np.diff(chunk.row_entry))
        out[first + chunk.entry_child.astype(int), features] = chunk.entry_value
    return out


def own_score(margins: Any, name: str) -> Any:
    """The logarithm of a child's own score, or its margin."""
    if name == "raw":
        return margins
    if "sigmoid" in name:
        return -np.logaddexp(0, -margins)
    return -(np.maximum(0, 1 - margins) ** int(name[1]))


def brute_force(model: Any, X: Any, name: str) -> Any:
    """Scores (n, n_slots) of every path of a tree."""
    X = X.toarray().astype(np.float64)
    total = np.zeros((len(X), 1))
    for level, offsets in zip(model.levels_, model.tree_.offsets, strict=True):
        parents = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        margins = X @ dense(level, offsets, X.shape[1]).T + level.bias
        total = total[:, parents] + own_score(margins, name)
    return total if name in ("raw", "log-sigmoid") else np.exp(total)


def expected_of(model: Any, X: Any, name: str) -> Any:
    """Scores (n, n_labels) of every label."""
    slots = brute_force(model, X, name)
    out = np.full((slots.shape[0], model.n_labels_), np.nan)
    out[:, model.tree_.slot_labels] = slots
    return out


def check_search(model: Any, problem: Problem, name: str) -> None:
    """A beam that keeps everything finds what brute force finds; `score_pairs` says the same."""
    n_labels, asked = model.n_labels_, problem.asked
    found = by_label(model.predict(asked, top_k=n_labels, beam_width=10_000), n_labels)
    expected = expected_of(model, asked, name)
    hold(found, expected, "scores of all labels", rtol=RTOL, atol=ATOL)
    pairs = sp.csr_array(np.ones(expected.shape, np.float32))
    logarithms = model.score_pairs(asked, pairs).toarray()
    given = logarithms if name in ("raw", "log-sigmoid") else np.exp(logarithms)
    hold(given, expected, "score_pairs", rtol=RTOL, atol=ATOL)
    narrow = model.predict(asked, top_k=min(3, n_labels), beam_width=2)
    there = narrow.labels >= 0
    rows = np.nonzero(there)[0]
    scores = expected[rows, narrow.labels[there]]
    hold(narrow.scores[there], scores, "scores of a narrow beam", rtol=RTOL, atol=ATOL)


def check_rows(model: Any, problem: Problem) -> None:
    """A batch, its single rows and a dense matrix are answered alike, bit by bit."""
    batch = model.predict(problem.asked, top_k=5)
    for i in range(problem.asked.shape[0]):
        one = model.predict(problem.asked[[i]], top_k=5)
        if not (one.labels[0] == batch.labels[i]).all():
            raise SilentChange(f"row {i} alone has other labels")
        hold(one.scores[0], batch.scores[i], f"row {i} alone")
    whole = model.predict(problem.asked.toarray(), top_k=5)
    hold(whole.scores, batch.scores, "a dense matrix")


def xr_linear(rng: Rng) -> None:
    from multitudes import XRLinear

    problem, chosen = drawn_problem(rng), settings(rng)
    model = XRLinear(**chosen).fit(problem.X, problem.Y)
    check_tree(model.tree_, chosen["max_leaf_size"])
    check_search(model, problem, chosen["score_function"])
    check_rows(model, problem)


def one_vs_all(rng: Rng) -> None:
    from multitudes import OneVsAll

    problem, chosen = drawn_problem(rng), settings(rng)
    names = ("score_function", "weights", "random_state", "n_jobs")
    model = OneVsAll(**{name: chosen[name] for name in names}).fit(problem.X, problem.Y)
    check_search(model, problem, chosen["score_function"])
    check_rows(model, problem)


def parabel(rng: Rng) -> None:
    """Trees are searched one by one, and their scores averaged."""
    from multitudes import Parabel

    problem, chosen = drawn_problem(rng), settings(rng)
    for name in ("branching", "score_function", "negatives"):
        del chosen[name]
    model = Parabel(n_trees=int(rng.integers(1, 4)), **chosen).fit(problem.X, problem.Y)
    n_labels = model.n_labels_
    found = by_label(model.predict(problem.asked, top_k=n_labels, beam_width=10_000), n_labels)
    trees = [expected_of(tree, problem.asked, tree.score_function) for tree in model.trees_]
    hold(found, np.mean(trees, axis=0), "mean of the trees", rtol=RTOL, atol=ATOL)
    check_rows(model, problem)


def disentangled(rng: Rng) -> None:
    """A label in several leaves has the best of their scores, if they are merged so."""
    from multitudes import Disentangled, XRLinear

    problem, chosen = drawn_problem(rng), settings(rng)
    model = Disentangled(
        XRLinear(**chosen), overlap=int(rng.integers(2, 4)), merge="max", predict_width=10_000
    ).fit(problem.X, problem.Y)
    (part,) = model.models_
    slots = brute_force(part, problem.asked, chosen["score_function"])
    expected = np.full((slots.shape[0], model.n_labels_), -np.inf)
    for slot, label in enumerate(part.tree_.slot_labels):
        expected[:, label] = np.maximum(expected[:, label], slots[:, slot])
    found = model.predict(problem.asked, top_k=model.n_labels_)
    scores = by_label(found, model.n_labels_)
    hold(scores, expected, "best of the leaves", rtol=RTOL, atol=ATOL)
    check_rows(model, problem)


def eagle(rng: Rng) -> None:
    """Groups of one instance each say of whom their labels are: it is the model inside."""
    from multitudes import Eagle, OneVsAll

    problem = drawn_problem(rng)
    alone = sp.csr_array(sp.eye_array(problem.X.shape[0], dtype=np.float32))
    found = Eagle(OneVsAll(n_jobs=1)).fit(problem.X, alone, problem.Y).predict(problem.asked)
    expected = OneVsAll(n_jobs=1).fit(problem.X, problem.Y).predict(problem.asked)
    hold(found.labels, expected.labels, "labels of Eagle")
    hold(found.scores, expected.scores, "scores of Eagle")


def label_tree(rng: Rng) -> None:
    """Every label is in one leaf, leaves are small, and threads change nothing."""
    from multitudes.labels import build_tree, pifa

    problem = drawn_problem(rng)
    size, branching = int(rng.integers(1, 12)), int(rng.integers(2, 9))
    embeddings = pifa(problem.X, problem.Y)
    seed = int(rng.integers(99))
    chosen = {"max_leaf_size": size, "branching": branching, "random_state": seed}
    trees = [build_tree(embeddings, n_jobs=n, **chosen) for n in (1, 3)]
    check_tree(trees[0], size)
    hold(trees[0].slot_labels, trees[1].slot_labels, "tree of three threads")


def check_tree(tree: Any, max_leaf_size: int) -> None:
    """A partition of the labels into leaves that are not too large."""
    hold(np.sort(tree.slot_labels), np.arange(tree.n_labels), "labels of a tree")
    sizes = np.diff(tree.offsets[-1])
    if tree.depth > 1 and sizes.max() > max_leaf_size:
        raise SilentChange(f"a leaf of {sizes.max()} labels, {max_leaf_size} are allowed")


TARGETS = {
    "xr-linear": xr_linear,
    "parabel": parabel,
    "one-vs-all": one_vs_all,
    "disentangled": disentangled,
    "eagle": eagle,
    "label tree": label_tree,
}
