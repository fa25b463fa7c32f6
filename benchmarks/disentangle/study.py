"""Runs of `benchmarks.disentangle`: one data set, many settings, all in this process."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import scipy.sparse as sp

from benchmarks.timing import stopwatch
from benchmarks.trees.data import Problem, load, sizes
from multitudes.disentangle import Disentangled, entangle, random_assignment
from multitudes.disentangle.entangling import Mode
from multitudes.labels import pifa
from multitudes.linear import XRLinear
from multitudes.linear.tasks import SolverConfig
from multitudes.metrics import precision_at_k
from multitudes.types import IntArray, Sparse

KS = (1, 3, 5)
OVERLAP = 2
BASELINE, RANDOM, KEPT, PAPER = "baseline", "random copies", "matcher kept", "as published"
MODES: tuple[Mode, ...] = get_args(Mode)
WARM_UP = 2_000
"""Instances of the fits that only load compiled code."""

LARGE = 20_000
"""Training instances above which the study is cut down, see `Plan`."""


def overlap_name(overlap: int) -> str:
    """What tables call a disentangled model."""
    return f"overlap {overlap}"


DISENTANGLED = overlap_name(OVERLAP)


@dataclass(frozen=True)
class Plan:
    """What is run, and how often.

    Parameters
    ----------
    seeds : int
        Of the baseline, random copies, and overlap 2 with and without finetuning.
    overlaps : tuple of int
        The sweep.
    fusions : tuple of int
        Labels fused into one.
    study_seeds : int, optional
        Of the other overlaps and of the fusions. By default `seeds` for data sets of up to `LARGE`
        training instances, and 1 for larger ones.
    large_fusions : tuple of int
        Instead of `fusions` for larger data sets.
    rounds : int
        Timed turns of baseline and overlap 2; at least one for each seed.
    repeats : int
        Timed predictions of both in each round.
    n_jobs : int
    """

    seeds: int = 3
    overlaps: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    fusions: tuple[int, ...] = (2, 4, 8)
    study_seeds: int | None = None
    large_fusions: tuple[int, ...] = (2,)
    rounds: int = 3
    repeats: int = 3
    n_jobs: int = 2

    def study_seeds_of(self, n_instances: int) -> int:
        """Seeds of the sweep and the fusions, never more than the baseline has."""
        chosen = self.study_seeds
        if chosen is None:
            chosen = self.seeds if n_instances <= LARGE else 1
        return min(chosen, self.seeds)

    def fusions_of(self, n_instances: int) -> tuple[int, ...]:
        """Labels fused into one, by the size of the data."""
        return self.fusions if n_instances <= LARGE else self.large_fusions


@dataclass
class Run:
    """One trained model: P@1, 3 and 5 in percent, its size, and seconds."""

    p: list[float]
    n_slots: int
    largest_leaf: int
    train_s: float
    train_cpu_s: float
    predict_s: float | None = None  # only where predictions are timed
    predict_cpu_s: float | None = None


Runs = dict[str, list[Run]]


def study(source: Path, plan: Plan) -> dict[str, Any]:
    """All runs of one data set, with the seconds each part took."""
    seconds: dict[str, float] = {}
    with timed(seconds, "loading"):
        problem = load(source)
    with timed(seconds, "warm_up"):
        warm_up(problem, plan)
    with timed(seconds, "comparison"):
        runs = compared(problem, plan)
    with timed(seconds, "overlaps"):
        runs |= swept(problem, plan)
    with timed(seconds, "fusions"):
        fusions = fused(problem, plan)
    return {
        "sizes": sizes(problem.X, problem.Y, problem.X_test),
        "seeds": plan.seeds,
        "overlaps": sorted({OVERLAP, *plan.overlaps}),
        "runs": runs,
        "fusions": fusions,
        "seconds": seconds,
    }


def warm_up(problem: Problem, plan: Plan) -> None:
    """Compile, or load what was compiled, before any stopwatch runs."""
    small = slice(0, WARM_UP)
    for model in (xr_linear(0, plan), disentangled(0, plan)):
        model.fit(problem.X[small], problem.Y[small])
        model.predict(problem.X_test[small])


def compared(problem: Problem, plan: Plan) -> Runs:
    """Baseline and overlap 2 in turns, timed; random copies and a matcher that is kept."""
    runs: Runs = {BASELINE: [], RANDOM: [], DISENTANGLED: [], KEPT: [], PAPER: []}
    for turn in range(max(plan.rounds, plan.seeds)):
        random_state = turn % plan.seeds
        base, ours = xr_linear(random_state, plan), disentangled(random_state, plan)
        models = {BASELINE: base, DISENTANGLED: ours}
        for name, model in models.items():
            runs[name].append(train(model, problem))
        times = predict_in_turns(models, problem.X_test, plan.repeats)
        for name, (wall, cpu) in times.items():
            runs[name][-1].predict_s, runs[name][-1].predict_cpu_s = wall, cpu
        if turn < plan.seeds:
            tree = random_tree(base, ours, random_state)
            runs[RANDOM].append(train(xr_linear(random_state, plan).set_params(tree=tree), problem))
            runs[KEPT].append(train(disentangled(random_state, plan, finetune=False), problem))
            runs[PAPER].append(train(as_published(random_state, plan), problem))
    return runs


def swept(problem: Problem, plan: Plan) -> Runs:
    """The overlaps that `compared` leaves out."""
    seeds = range(plan.study_seeds_of(problem.X.shape[0]))
    return {
        overlap_name(overlap): [
            train(disentangled(random_state, plan, overlap=overlap), problem)
            for random_state in seeds
        ]
        for overlap in plan.overlaps
        if overlap != OVERLAP
    }


def fused(problem: Problem, plan: Plan) -> list[dict[str, Any]]:
    """P@5 of baseline and overlap 2 on fused labels: a record for each k and mode."""
    n_instances = problem.X.shape[0]
    ks, seeds = plan.fusions_of(n_instances), plan.study_seeds_of(n_instances)
    if not ks:
        return []
    embeddings = pifa(problem.X, problem.Y, n_jobs=plan.n_jobs)
    records = []
    for k in ks:
        for mode in MODES:
            pairs = []
            for random_state in range(seeds):
                made = entangle(
                    problem.Y, embeddings, k, mode, random_state=random_state, n_jobs=plan.n_jobs
                )
                Y_test = joined(problem.Y_test, made.fused_of_label)
                harder = Problem(problem.X, made.Y, problem.X_test, Y_test)
                models = (xr_linear(random_state, plan), disentangled(random_state, plan))
                pairs.append([train(model, harder).p[KS.index(5)] for model in models])
            records.append({"k": k, "mode": mode, "labels": made.n_fused, "p5": pairs})
    return records


def joined(Y: Sparse, fused_of_label: IntArray) -> Sparse:
    """Y with the columns of fused labels joined, 0/1."""
    n_labels = len(fused_of_label)
    ones = np.ones(n_labels, np.float32)
    members = sp.csr_array((ones, fused_of_label, np.arange(n_labels + 1)))
    out = sp.csr_array(Y @ members)
    out.data.fill(1)
    return out


def xr_linear(random_state: int, plan: Plan) -> XRLinear:
    """The wrapped model: branching 16, leaves of at most 100, beam 10."""
    return XRLinear(
        branching=16,
        max_leaf_size=100,
        beam_width=10,
        random_state=random_state,
        n_jobs=plan.n_jobs,
    )


def disentangled(
    random_state: int, plan: Plan, *, overlap: int = OVERLAP, finetune: bool = True
) -> Disentangled:
    """One round with the default settings."""
    return Disentangled(
        xr_linear(random_state, plan),
        overlap=overlap,
        rounds=1,
        finetune_matcher=finetune,
        random_state=random_state,
    )


def as_published(random_state: int, plan: Plan) -> Disentangled:
    """Overlap 2 as in the paper but for the cap: every label, whole beams, full tolerance."""
    model = disentangled(random_state, plan)
    beam = model.model.beam_width
    settings = {"min_instances": 1, "tolerance": 1.0, "match_width": beam, "predict_width": beam}
    return model.set_params(**settings, model__solver=SolverConfig(epsilon=0.1))


def random_tree(baseline: XRLinear, model: Disentangled, random_state: int) -> Any:
    """The baseline's tree with as many copies of each label as `model` has, at random."""
    leaves = baseline.tree_.depth - 1
    found = model.models_[0].tree_.label_clusters(leaves)
    return baseline.tree_.with_leaves(
        random_assignment(baseline.tree_.label_clusters(leaves), found, random_state=random_state)
    )


def train(model: Any, problem: Problem) -> Run:
    """Fit on the training part and look at the test part."""
    gc.collect()  # nobody pays for what an earlier model left behind
    wall, cpu = stopwatch(partial(model.fit, problem.X, problem.Y))
    found = model.predict(problem.X_test, top_k=max(KS))
    tree = model.tree_ if isinstance(model, XRLinear) else model.models_[0].tree_
    return Run(
        p=[100 * precision_at_k(found, problem.Y_test, k=k) for k in KS],
        n_slots=tree.n_slots,
        largest_leaf=int(np.diff(tree.offsets[-1]).max()),
        train_s=wall,
        train_cpu_s=cpu,
    )


def predict_in_turns(
    models: dict[str, Any], X: Sparse, repeats: int
) -> dict[str, tuple[float, float]]:
    """The median seconds of predicting all of X, by the clock and of the CPU."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in models}
    for _ in range(repeats):
        for name, model in models.items():
            times[name].append(stopwatch(partial(model.predict, X, top_k=max(KS))))
    return {
        name: (statistics.median(w for w, _ in turns), statistics.median(c for _, c in turns))
        for name, turns in times.items()
    }


@contextmanager
def timed(seconds: dict[str, float], part: str) -> Iterator[None]:
    """Note how long a part of the study took."""
    start = time.perf_counter()
    yield
    seconds[part] = time.perf_counter() - start
