"""What does a looser tolerance cost? ``python -m benchmarks.trees.tolerance --data DIR ...``.

XRLinear's rankers with several ``solver.epsilon`` and ``solver.epsilon_growth``, and with leaves
that keep no smaller weights than the levels above (``solver.leaf_threshold`` 1), on the same trees,
judged on 15 % of the training instances that are held out (the test part is not read). Differences
are by seed; CPU seconds are those of the rankers alone, one thread; weights are millions.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import finish, rows_of, show_rows, together
from benchmarks.trees.data import Problem, load
from multitudes.linear import XRLinear
from multitudes.linear.tasks import SolverConfig
from multitudes.metrics import precision_at_k

KS = (1, 3, 5)
HELD_OUT = 0.15
SOLVERS = {
    "0.1 in all": SolverConfig(epsilon=0.1, epsilon_growth=0.0),
    "0.2 in all": SolverConfig(epsilon=0.2, epsilon_growth=0.0),
    "0.2, growing": SolverConfig(epsilon=0.2),
    "0.3 in all": SolverConfig(epsilon=0.3, epsilon_growth=0.0),
    "0.3, growing": SolverConfig(epsilon=0.3),
    "0.3, growing, same in leaves": SolverConfig(epsilon=0.3, leaf_threshold=1.0),
}


def held_out(source: Path) -> Problem:
    """The training data of a folder, and a part of it in place of the test data."""
    whole = load(source)
    shuffled = np.random.default_rng(0).permutation(whole.X.shape[0])
    n_judged = int(HELD_OUT * len(shuffled))
    kept, judged = np.sort(shuffled[n_judged:]), np.sort(shuffled[:n_judged])
    return Problem(whole.X[kept], whole.Y[kept], whole.X[judged], whole.Y[judged])


def measure(problem: Problem, *, seeds: int) -> dict[str, Any]:
    """Every solver, on the tree of each seed."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in SOLVERS}
    for seed in range(seeds):
        tree = XRLinear(random_state=seed).fit(problem.X, problem.Y).tree_
        for name, solver in SOLVERS.items():
            model = XRLinear(tree=tree, solver=solver, random_state=seed, n_jobs=1)
            before = time.process_time()
            model.fit(problem.X, problem.Y)
            seconds = time.process_time() - before
            labels = model.predict(problem.X_test, top_k=max(KS))
            precision = {f"P@{k}": 100 * precision_at_k(labels, problem.Y_test, k=k) for k in KS}
            weights = sum(len(level.entry_value) for level in model.levels_) / 1e6
            found[name].append({**precision, "cpu_seconds": seconds, "weights": weights})
    return {name: together(values) for name, values in found.items()}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.trees.tolerance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="data folders")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--no-store", action="store_true", help="only print")
    given = parser.parse_args(arguments)
    results: dict[str, Any] = {}
    for source in given.data:
        results[source.name] = measure(held_out(source), seeds=given.seeds)
        show_rows(source.name, rows_of(results[source.name]))
    settings = {"held_out": HELD_OUT, "n_threads": 1}
    finish("trees-tolerance", rows_of(results), settings=settings, store=not given.no_store)


if __name__ == "__main__":
    main()
