"""What is measured of labels given to groups: precision, labels that are right, cost and memory."""

from __future__ import annotations

import ctypes
import gc
import math
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.timing import stopwatch
from benchmarks.trees.contestants.process import matrix_mb, peak_mb, resident_mb
from benchmarks.trees.data import Problem
from multitudes.groups import Eagle, diagnose, impute, spread
from multitudes.groups.accuracy import imputation_accuracy
from multitudes.groups.candidates import Candidates, checked_candidates
from multitudes.groups.embeddings import embedder
from multitudes.groups.imputation import Imputation, Rule, assign
from multitudes.groups.making import clustered_groups, merge_labels, noisy_groups, random_groups
from multitudes.linear import Parabel, XRLinear
from multitudes.metrics import precision_at_k
from multitudes.types import FloatArray, Sparse

KS = (1, 3, 5)
SOLVERS = {"parabel": Parabel, "xr-linear": XRLinear}
CLUSTER_SIZE = 60
"""Instances of a group of clustered groups, at least; on eurlex-titles that is depth 8."""

WARM_UP = 1_000
"""Instances of the fits that only load compiled code."""


class Grouped(NamedTuple):
    """Groups of instances, and their labels."""

    groups: Sparse
    labels: Sparse


def measured(problem: Problem, settings: Mapping[str, Any], seed: int) -> dict[str, float]:
    """Train on the labels that a row gives to instances, and look at the test part once.

    Parameters
    ----------
    problem : Problem
    settings : mapping
        ``solver`` of `SOLVERS`, ``n_jobs``, ``method``: "oracle", "baseline", or options of
        `Eagle`; unless it is the oracle also ``grouping`` of `groups_of` and ``counts``, whether a
        group's labels are a list with repetitions.
    seed : int
        Decides the groups, the folds and the solver.
    """
    warm_up(settings["solver"])
    gc.collect()  # nobody pays for what an earlier model left behind
    model, Y, cpu = learned(problem, settings, seed)
    found = model.predict(problem.X_test, top_k=max(KS))
    values = {f"P@{k}": 100 * precision_at_k(found, problem.Y_test, k=k) for k in KS}
    if Y is not None:
        right = imputation_accuracy(Y, problem.Y)
        values |= {"labels right": 100 * right.precision, "labels found": 100 * right.recall}
    return values | cpu


def learned(
    problem: Problem, settings: Mapping[str, Any], seed: int
) -> tuple[Any, Sparse | None, dict[str, float]]:
    """A fitted model, the labels of instances it learned from, and CPU seconds."""
    method, n_jobs = settings["method"], settings["n_jobs"]
    model = SOLVERS[settings["solver"]](random_state=seed, n_jobs=n_jobs)
    if method == "oracle":
        return model, None, {"train CPU s": timed(partial(model.fit, problem.X, problem.Y))}
    made = grouped(problem, settings, seed)
    if method == "baseline":
        Y = spread(*made)
        return model, Y, {"train CPU s": timed(partial(model.fit, problem.X, Y))}
    if method.get("rounds"):
        eagle = Eagle(model, **method, random_state=seed, n_jobs=n_jobs)
        cpu = timed(partial(eagle.fit, problem.X, *made))
        return eagle, eagle.imputation_.Y, {"train CPU s": cpu}
    found: list[Any] = []
    if settings.get("numbers known"):
        found.append(with_known_numbers(problem, made, method))
        return model.fit(problem.X, found[0].Y), found[0].Y, {}
    impute_cpu = timed(lambda: found.append(impute(problem.X, *made, **method, n_jobs=n_jobs)))
    train_cpu = timed(partial(model.fit, problem.X, found[0].Y))
    return model, found[0].Y, {"impute CPU s": impute_cpu, "train CPU s": train_cpu}


def with_known_numbers(problem: Problem, made: Grouped, method: Mapping[str, Any]) -> Imputation:
    """Embeddings from sets, and as many instances for each label as truly have it."""
    lists = merge_labels(problem.Y, made.groups)
    sets, counted = (checked_candidates(made.groups, labels) for labels in (made.labels, lists))
    learner = embedder(
        problem.X, made.groups, sets,
        n_steps=method["n_steps"], step=0.1, contrast=method["contrast"],
    )  # fmt: skip
    return assign(
        counted, lambda block: learner.cosines(sets, block), Rule(use_counts=True), n_jobs=1
    )


def after_steps(problem: Problem, settings: Mapping[str, Any], seed: int) -> dict[str, float]:
    """A row of `measured`, and how far Algorithm 1 is from where more steps lead."""
    values = measured(problem, settings, seed)
    candidates, now = closest(problem, settings, seed, **settings["method"])
    rest = at_rest(problem, settings["grouping"], settings["counts"], seed, settings["at rest"])
    weights = candidates.pair_count
    return values | {
        "Eq. 2": float(weights @ now.cosine),
        "Eq. 2, % of rest": 100 * float(weights @ now.cosine) / float(weights @ rest.cosine),
        "closest as at rest": 100 * float(np.mean(now.place == rest.place)),
    }


class Closest(NamedTuple):
    """The closest member for each label of each group: its cosine, and which place it is."""

    cosine: FloatArray
    place: Any


@lru_cache(maxsize=1)
def at_rest(problem: Problem, grouping: str, counts: bool, seed: int, n_steps: int) -> Closest:
    """After so many steps that hardly a closest member changes."""
    settings = {"grouping": grouping, "counts": counts}
    return closest(problem, settings, seed, n_steps=n_steps)[1]


def closest(
    problem: Problem, settings: Mapping[str, Any], seed: int, *, n_steps: int, step: float = 0.1
) -> tuple[Candidates, Closest]:
    """The closest members by embeddings of Algorithm 1, pair by pair."""
    groups, labels = grouped(problem, settings, seed)
    candidates = checked_candidates(groups, labels)
    learner = embedder(problem.X, groups, candidates, n_steps=n_steps, step=step, contrast=False)
    parts = candidates.over_blocks(lambda block: learner.cosines(candidates, block), n_jobs=1)
    cosines = np.concatenate(parts)
    sizes = np.diff(candidates.group_indptr)[candidates.pair_group]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    best = np.maximum.reduceat(cosines, starts)
    is_best = cosines >= np.repeat(best, sizes)
    first = np.minimum.reduceat(np.where(is_best, np.arange(len(cosines)), len(cosines)), starts)
    return candidates, Closest(best, first)


def memory(problem: Problem, settings: Mapping[str, Any], seed: int) -> dict[str, float]:
    """Peak memory of imputing, in units of its input: X, groups and labels of groups."""
    warm_up("xr-linear")
    groups, labels = grouped(problem, settings, seed)
    inputs = matrix_mb(problem.X, groups, labels)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what was freed would be used again, unnoticed
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from now
    before = resident_mb()
    impute(problem.X, groups, labels, **settings["method"], n_jobs=settings["n_jobs"])
    extra = max(peak_mb() - before, 0.0)
    return {"input MB": inputs, "peak over input": 1 + extra / inputs}


def diagnosed(problem: Problem, settings: Mapping[str, Any], seed: int) -> dict[str, float]:
    """Sizes of groups, the spread within them, and the price of not assigning labels."""
    found = diagnose(problem.X, *grouped(problem, settings, seed))
    assert found.spread is not None  # there are groups of two
    return {
        "groups": found.counts.groups,
        "members each": found.counts.mean_size,
        "labels each": found.counts.listed / found.counts.groups,
        "spread within": 100 * found.spread.share,
        "price": found.spread.price,
    }


def timed(work: Any) -> float:
    """CPU seconds of some work, of all threads."""
    return stopwatch(work)[1]


@lru_cache(maxsize=2)
def warm_up(solver: str) -> None:
    """Compile, or load what was compiled, before any stopwatch runs."""
    from benchmarks.trees.long_tailed import long_tailed

    X, Y, X_test, _ = long_tailed(WARM_UP, n_test=100)
    groups = random_groups(X.shape[0], 4)
    eagle = Eagle(SOLVERS[solver](n_jobs=1), rounds=1, contrast=True, use_counts=True, n_jobs=1)
    eagle.fit(X, groups, merge_labels(Y, groups)).predict(X_test)


def grouped(problem: Problem, settings: Mapping[str, Any], seed: int) -> Grouped:
    """Groups of the training part, and their labels as lists or as sets."""
    groups = groups_of(problem.X, settings["grouping"], seed)
    return Grouped(groups, merge_labels(problem.Y, groups, as_counts=settings["counts"]))


def groups_of(X: Sparse, name: str, seed: int) -> Sparse:
    """Groups by name: R-4 (random, of 4), C (clustered), C-10 (depth 10), N-0.5 (noise 0.5)."""
    kind, _, number = name.partition("-")
    if kind == "R":
        return random_groups(X.shape[0], int(number), random_state=seed)
    if kind == "C":
        depth = int(number) if number else depth_of(X)
        return clustered_groups(X, depth, random_state=seed, n_jobs=1)
    if kind == "N":
        return noisy_groups(X, depth_of(X), float(number), random_state=seed, n_jobs=1)
    raise ValueError(f"{name!r} is not a way of grouping: use R-4, C, C-10 or N-0.5")


def depth_of(X: Sparse) -> int:
    """Depth of hierarchical clustering that leaves `CLUSTER_SIZE` instances in a group."""
    return max(int(math.log2(X.shape[0] / CLUSTER_SIZE)), 1)
