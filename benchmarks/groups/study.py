"""Runs of `benchmarks.groups`: one data set, grouped in several ways, all in this process."""

from __future__ import annotations

import ctypes
import gc
import math
import statistics
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.timing import stopwatch
from benchmarks.trees.arena import KS
from benchmarks.trees.contestants.process import matrix_mb, peak_mb, resident_mb
from benchmarks.trees.data import Problem, load, sizes
from multitudes.groups import Eagle, impute, spread
from multitudes.groups.accuracy import imputation_accuracy
from multitudes.groups.making import clustered_groups, merge_labels, noisy_groups, random_groups
from multitudes.linear import Parabel, XRLinear
from multitudes.metrics import precision_at_k
from multitudes.types import Sparse

ORACLE, BASELINE, START, EAGLE, CONTRAST, ROUNDS = (
    "oracle", "baseline", "EAGLE-0", "EAGLE", "contrast", "rounds",
)  # fmt: skip
CONTRASTING = {"n_steps": "auto", "contrast": True, "use_counts": True}
METHODS: dict[str, dict[str, Any]] = {
    START: {"n_steps": 0},
    EAGLE: {},
    CONTRAST: CONTRASTING,
    ROUNDS: {**CONTRASTING, "rounds": 3},
}
SOLVERS = {"parabel": Parabel, "xr-linear": XRLinear}
CLUSTER_SIZE = 60
"""Instances of a group of clustered groups, at least; on eurlex-titles that is depth 8."""

MOST_SPREAD = 20_000_000
"""Labels of instances beyond which the baseline is left out as too large."""

WARM_UP = 2_000
"""Instances of the fits that only load compiled code."""


@dataclass(frozen=True)
class Plan:
    """What is run, and how often.

    Parameters
    ----------
    settings : tuple of str
        Ways of grouping, see `grouped`.
    sweep : tuple of str
        More of them, for the figure, with one seed.
    seeds : int
    solver : str
        One of `SOLVERS`.
    n_jobs : int
    """

    settings: tuple[str, ...] = ("R-4", "R-10", "C")
    sweep: tuple[str, ...] = ()
    seeds: int = 3
    solver: str = "parabel"
    n_jobs: int = 2

    def model(self, random_state: int) -> Any:
        """The solver."""
        return SOLVERS[self.solver](random_state=random_state, n_jobs=self.n_jobs)


@dataclass
class Run:
    """One trained model: P@1, 3 and 5 in percent, imputed labels that are right, and seconds."""

    p: list[float]
    accuracy: float | None = None
    impute_s: float = 0.0
    impute_cpu_s: float = 0.0
    train_s: float = 0.0
    train_cpu_s: float = 0.0


Runs = dict[str, list[Run]]


def study(source: Path, plan: Plan) -> dict[str, Any]:
    """All runs of one data set."""
    problem = load(source)
    warm_up(problem, plan)
    memory = memory_factor(problem, plan)
    oracle = [
        solve(plan.model(random_state), problem, problem.Y) for random_state in range(plan.seeds)
    ]
    settings = {name: runs_of(problem, name, plan, plan.seeds) for name in plan.settings}
    sweep = {
        name: settings[name] if name in settings else runs_of(problem, name, plan, 1)
        for name in plan.sweep
    }
    return {
        "sizes": sizes(problem.X, problem.Y, problem.X_test),
        "depth": depth_of(problem),
        "memory_factor": memory,
        "oracle": oracle,
        "settings": settings,
        "sweep": sweep,
    }


def warm_up(problem: Problem, plan: Plan) -> None:
    """Compile, or load what was compiled, before any stopwatch runs."""
    X, Y = problem.X[:WARM_UP], problem.Y[:WARM_UP]
    groups = random_groups(X.shape[0], 4)
    eagle = Eagle(plan.model(0), rounds=1, contrast=True)
    eagle.fit(X, groups, merge_labels(Y, groups)).predict(problem.X_test[:WARM_UP])


def runs_of(problem: Problem, name: str, plan: Plan, seeds: int) -> Runs:
    """All methods with one way of grouping."""
    runs: Runs = {method: [] for method in (BASELINE, *METHODS)}
    for random_state in range(seeds):
        groups = grouped(problem, name, random_state, plan)
        group_labels = merge_labels(problem.Y, groups)
        if too_large(groups, group_labels):
            runs.pop(BASELINE, None)
        else:
            model = plan.model(random_state)
            runs[BASELINE].append(solve(model, problem, spread(groups, group_labels)))
        for method, options in METHODS.items():
            runs[method].append(trained(problem, groups, group_labels, options, plan, random_state))
    return runs


def too_large(groups: Sparse, group_labels: Sparse) -> bool:
    """Whether the baseline would have more labels than it is worth waiting for."""
    per_group = (group_labels > 0).sum(axis=1) * (groups > 0).sum(axis=0)
    return int(per_group.sum()) > MOST_SPREAD


def trained(
    problem: Problem, groups: Sparse, group_labels: Sparse, options: dict[str, Any], plan: Plan,
    random_state: int,
) -> Run:  # fmt: skip
    """EAGLE: labels imputed, and a model trained on them; with rounds, both at once."""
    if "rounds" in options:
        eagle = Eagle(
            plan.model(random_state), **options, random_state=random_state, n_jobs=plan.n_jobs
        )
        seconds = stopwatch(partial(eagle.fit, problem.X, groups, group_labels))
        run = tested(eagle, problem)
        run.train_s, run.train_cpu_s = seconds
        run.accuracy = imputation_accuracy(eagle.imputation_, problem.Y).precision
        return run
    found: list[Any] = []
    work = partial(impute, problem.X, groups, group_labels, **options, n_jobs=plan.n_jobs)
    gc.collect()
    seconds = stopwatch(lambda: found.append(work()))
    run = solve(plan.model(random_state), problem, found[0].Y)
    run.impute_s, run.impute_cpu_s = seconds
    run.accuracy = imputation_accuracy(found[0], problem.Y).precision
    return run


def solve(model: Any, problem: Problem, Y: Sparse) -> Run:
    """Train on these labels and look at the test part."""
    gc.collect()  # nobody pays for what an earlier model left behind
    seconds = stopwatch(partial(model.fit, problem.X, Y))
    run = tested(model, problem)
    run.train_s, run.train_cpu_s = seconds
    return run


def tested(model: Any, problem: Problem) -> Run:
    """Precision on the test part."""
    found = model.predict(problem.X_test, top_k=max(KS))
    return Run([100 * precision_at_k(found, problem.Y_test, k=k) for k in KS])


def depth_of(problem: Problem) -> int:
    """Depth of hierarchical clustering that leaves `CLUSTER_SIZE` instances in a group."""
    return max(int(math.log2(problem.X.shape[0] / CLUSTER_SIZE)), 1)


def grouped(problem: Problem, name: str, random_state: int, plan: Plan) -> Sparse:
    """Groups by name: R-4 (random, of 4), C (clustered), C-10 (depth 10), N-0.5 (noise 0.5)."""
    kind, _, number = name.partition("-")
    threads = plan.n_jobs
    if kind == "R":
        return random_groups(problem.X.shape[0], int(number), random_state=random_state)
    if kind == "C":
        depth = int(number) if number else depth_of(problem)
        return clustered_groups(problem.X, depth, random_state=random_state, n_jobs=threads)
    if kind == "N":
        depth = depth_of(problem)
        return noisy_groups(
            problem.X, depth, float(number), random_state=random_state, n_jobs=threads
        )
    raise ValueError(f"{name!r} is not a way of grouping: use R-4, C, C-10 or N-0.5")


def memory_factor(problem: Problem, plan: Plan) -> float | None:
    """Peak memory of imputing with groups of 4, in units of the input's; None if unknown."""
    groups = random_groups(problem.X.shape[0], 4)
    group_labels = merge_labels(problem.Y, groups)
    inputs = matrix_mb(problem.X, groups, group_labels)
    extra = []
    for _ in range(3):
        gc.collect()
        try:
            ctypes.CDLL(None).malloc_trim(0)  # what was freed would be used again, unnoticed
            Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from now
        except (OSError, AttributeError):
            return None
        before = resident_mb()
        impute(problem.X, groups, group_labels, n_jobs=plan.n_jobs)
        extra.append(peak_mb() - before)
    return 1 + max(statistics.median(extra), 0.0) / inputs
