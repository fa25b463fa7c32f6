"""What is measured of a row: precision, propensity-scored precision, reach, size and CPU time."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.disentangle.models import Fitted, SameReach, candidates, fitted, unfitted
from benchmarks.disentangle.separation import in_different_leaves, pairs_of
from benchmarks.timing import stopwatch
from benchmarks.trees.data import Problem
from multitudes.disentangle import entangle
from multitudes.labels import pifa
from multitudes.metrics import inverse_propensity, precision_at_k, psp_at_k
from multitudes.types import IntArray, Sparse

KS = (1, 3, 5)
WARM_UP = 500  # instances of the fits that only load compiled code
PLAIN: dict[str, Any] = {"overlapping": None, "control": None}


def measured(problem: Problem, settings: Mapping[str, Any], seed: int) -> dict[str, float]:
    """Fit the model of a row and look at the test part once."""
    warm_up(settings["n_jobs"])
    model, cpu = timed_fit(problem, settings, seed)
    return {
        **precision(problem, model, settings.get("beam_width")),
        **sizes(problem, model, settings.get("beam_width")),
        "fit CPU s": cpu,
    }


def timed_fit(problem: Problem, settings: Mapping[str, Any], seed: int) -> tuple[Fitted, float]:
    """The model of a row, and CPU seconds of all threads; of a control with all that it takes."""
    gc.collect()  # nobody pays for what an earlier model left behind
    made: list[Fitted] = []
    _, cpu = stopwatch(lambda: made.append(fitted(settings, problem.X, problem.Y, seed)))
    return made[0], cpu


def precision(problem: Problem, model: Fitted, beam_width: int | None) -> dict[str, float]:
    """P@k and PSP@k in percent, and CPU seconds of predicting all test instances."""
    predict = partial(model.predict, problem.X_test, top_k=max(KS), beam_width=beam_width)
    found = predict()
    _, cpu = stopwatch(predict)  # the first has built an index
    weights = inverse_propensity(problem.Y)
    values = {f"P@{k}": 100 * precision_at_k(found, problem.Y_test, k=k) for k in KS}
    values |= {f"PSP@{k}": 100 * psp_at_k(found, problem.Y_test, weights, k=k) for k in KS}
    return values | {"predict CPU s": cpu}


def sizes(problem: Problem, model: Fitted, beam_width: int | None) -> dict[str, float]:
    """Copies of a label, the fullest leaf, and what share of test positives is within reach.

    Reach is of the first tree with the beam that it predicts with: the share of true labels of test
    instances that are in one of the leaves they are led to.
    """
    trees = [tree.tree_ for tree in model.trees]
    first = model.trees[0]
    reached = candidates(first, problem.X_test, beam_width or width_of(model, first))
    if isinstance(model, SameReach):
        reached = reached.multiply(candidates(model.plain, problem.X_test, model.plain.beam_width))
    return {
        "copies": float(np.mean([tree.n_slots / tree.n_labels for tree in trees])),
        "fullest leaf": max(int(np.diff(tree.offsets[-1]).max()) for tree in trees),
        "leaves": trees[0].n_leaves,
        "within reach": 100 * problem.Y_test.multiply(reached).nnz / problem.Y_test.nnz,
    }


def width_of(model: Fitted, tree: Any) -> int:
    """The beam that a model predicts with by default."""
    inside: Any = getattr(model, "model", None)
    width: int = inside._predict_width(tree) if hasattr(inside, "models_") else tree.beam_width
    return width


def fused(problem: Problem, settings: Mapping[str, Any], seed: int) -> dict[str, float]:
    """P@5 with labels fused (section 5.1), plain and with overlap, and the gain in percent."""
    warm_up(settings["n_jobs"])
    harder, _ = entangled_problem(problem, settings["k"], settings["mode"], seed)
    values: dict[str, float] = {}
    for name, changes in {"plain": PLAIN, "overlap": {}}.items():
        model, _ = timed_fit(harder, {**settings, **changes}, seed)
        found = precision(harder, model, None)
        values |= {f"{measure} {name}": found[measure] for measure in ("P@1", "P@5", "PSP@5")}
    for measure in ("P@1", "P@5", "PSP@5"):
        values[f"{measure} gain %"] = 100 * (
            values[f"{measure} overlap"] / values[f"{measure} plain"] - 1
        )
    return values | {"labels": harder.Y.shape[1]}


def separated(
    problem: Problem, topics: IntArray | None, settings: Mapping[str, Any], seed: int
) -> dict[str, float]:
    """How many fusions of two labels come apart again, and precision with the fused labels.

    Parameters
    ----------
    problem : Problem
    topics : int array (n_labels,), optional
        Where labels have topics, fusions within one do not count.
    settings : dict
        `mode` and `k` of the fusions, and those of the model.
    seed : int
    """
    warm_up(settings["n_jobs"])
    harder, made = entangled_problem(problem, settings["k"], settings["mode"], seed)
    pairs = pairs_of(made, problem.Y, topics)
    model, cpu = timed_fit(harder, settings, seed)
    tree = model.trees[0].tree_
    apart = in_different_leaves(tree, problem.X, problem.Y, harder.Y, pairs.members)
    values = {
        "apart": 100 * float(apart.mean()),
        "even apart": 100 * float(apart[pairs.even].mean()),
        "fusions": len(apart),
        "even fusions": int(pairs.even.sum()),
        "first tree's leaves": tree.n_leaves,
    }
    copies = {"copies": tree.n_slots / tree.n_labels, "fit CPU s": cpu}
    return values | precision(harder, model, None) | copies


def entangled_problem(problem: Problem, k: int, mode: Any, seed: int) -> tuple[Problem, Any]:
    """The data with every `k` labels made one."""
    embeddings = None if mode == "hard" else pifa(problem.X, problem.Y)
    made = entangle(problem.Y, embeddings, k, mode, random_state=seed)
    Y_test = joined(problem.Y_test, made.fused_of_label)
    return Problem(problem.X, made.Y, problem.X_test, Y_test), made


def joined(Y: Sparse, fused_of_label: IntArray) -> Sparse:
    """Y with the columns of fused labels joined, 0/1."""
    n_labels = len(fused_of_label)
    ones = np.ones(n_labels, np.float32)
    members = sp.csr_array((ones, fused_of_label, np.arange(n_labels + 1)))
    out = sp.csr_array(Y @ members)
    out.data.fill(1)
    return out


@lru_cache(maxsize=1)
def warm_up(n_jobs: int) -> None:
    """Compile, or load what was compiled, before any stopwatch runs."""
    rng = np.random.default_rng(0)
    X = sp.random_array((WARM_UP, 60), density=0.1, rng=rng, dtype=np.float32).tocsr()
    Y = sp.random_array((WARM_UP, 300), density=0.02, rng=rng, dtype=np.float32).tocsr()
    Y.data.fill(1)
    settings = {"tree": "xr-linear", "shape": {"max_leaf_size": 10}, "n_jobs": n_jobs}
    for overlapping in (None, {"overlap": 2}):
        model = unfitted({**settings, "overlapping": overlapping}, 0).fit(X, Y)
        model.predict(X)
