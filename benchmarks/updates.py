"""Can labels be added without training again? ``python -m benchmarks.updates --data DIR``.

A random 5 % of the labels are held out, XRLinear (with ``--overlap 2``, Disentangled around it) is
trained on the others, and ``add_labels`` is given all instances with all labels; a full retrain
over all labels is what it is held against. A seed decides which labels are held out, the tree, and
the solver's order.

- ``p1_diff``, ``p3_diff``, ``p5_diff``: added minus retrained, in points, means over seeds;
- ``time_ratio``: seconds of ``add_labels`` in those of the retrain, label embeddings and tree
  building included: the medians over all rounds, in which the two take turns;
- ``new_recall5_added`` and ``new_recall5_retrained``: of the test instances' new labels, the
  percentage that is among the first five. Precision over all labels hardly sees them.

Instances that carry held-out labels alone are left out of the first training. Filter pairs are not
applied.
"""

from __future__ import annotations

import argparse
import copy
import gc
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.report import Rounds, finish, rows_of, show_rows, together
from benchmarks.trees.data import features, sizes
from multitudes.data import ReadOptions, read_dataset
from multitudes.disentangle import Disentangled
from multitudes.errors import MultitudesError
from multitudes.linear import XRLinear
from multitudes.metrics import precision_at_k
from multitudes.types import Predictions, Sparse

KS = (1, 3, 5)
HELD_OUT = 0.05
WARM_UP = 2_000
"""Instances of the fits that only load compiled code."""


class Problem(NamedTuple):
    """Training and test part; the labels from `n_old` on are held out at first."""

    X: Sparse
    Y: Sparse
    X_test: Sparse
    Y_test: Sparse
    n_old: int

    def held_out(self, random_state: int) -> Problem:
        """The same data with a random part of the labels put last."""
        n_labels = self.Y.shape[1]
        order = np.random.default_rng(random_state).permutation(n_labels)
        n_old = n_labels - max(1, round(HELD_OUT * n_labels))
        order = np.concatenate([np.sort(order[:n_old]), np.sort(order[n_old:])])
        return self._replace(Y=self.Y[:, order], Y_test=self.Y_test[:, order], n_old=n_old)

    def old_part(self) -> tuple[Sparse, Sparse]:
        """What is known before labels are added."""
        Y = self.Y[:, : self.n_old]
        rows = np.flatnonzero(np.diff(Y.indptr))
        return self.X[rows], Y[rows]


def load(source: Path) -> Problem:
    """A data folder as X and Y."""
    training = read_dataset(source, options=ReadOptions(split="trn"))
    test = read_dataset(source, labels=training, options=ReadOptions(split="tst"))
    X, X_test = features(training, test)
    return Problem(X, training.Y, X_test, test.Y, training.Y.shape[1])


def measure(
    problem: Problem, *, seeds: int, rounds: int, n_jobs: int, overlap: int = 1
) -> dict[str, Any]:
    """Both ways, for each seed, in turns."""
    small = problem._replace(X=problem.X[:WARM_UP], Y=problem.Y[:WARM_UP])
    make = partial(new_model, overlap=overlap, n_jobs=n_jobs)
    one_seed(small, 0, make, rounds=1)
    found = [one_seed(problem, seed, make, rounds=rounds) for seed in range(seeds)]
    ways = {
        way: {
            **together([one[way]["quality"] for one in found]),
            "seconds": Rounds([second for one in found for second in one[way]["seconds"]]),
        }
        for way in ("added", "retrained")
    }
    return {**sizes(problem.X, problem.Y, problem.X_test), **ways}


def new_model(random_state: int, *, overlap: int, n_jobs: int) -> Any:
    """An unfitted tree, in which labels overlap if asked for."""
    model = XRLinear(random_state=random_state, n_jobs=n_jobs)
    return Disentangled(model, overlap=overlap) if overlap > 1 else model


def one_seed(
    problem: Problem, random_state: int, make: Callable[[int], Any], *, rounds: int
) -> dict[str, Any]:
    """Precision and seconds of both ways."""
    own = problem.held_out(random_state)
    known = make(random_state).fit(*own.old_part())
    seconds: dict[str, list[float]] = {"added": [], "retrained": []}
    models: dict[str, Any] = {}
    for _ in range(rounds):
        grown, fresh = copy.deepcopy(known), make(random_state)
        seconds["added"].append(stopwatch(lambda m=grown: m.add_labels(own.X, own.Y)))
        seconds["retrained"].append(stopwatch(lambda m=fresh: m.fit(own.X, own.Y)))
        models = {"added": grown, "retrained": fresh}
    return {
        way: {"quality": quality(model, own), "seconds": seconds[way]}
        for way, model in models.items()
    }


def quality(model: Any, problem: Problem) -> dict[str, float]:
    """P@k, and how many of the new labels are found, in percent."""
    found = model.predict(problem.X_test, top_k=max(KS))
    p = {f"P@{k}": 100 * precision_at_k(found, problem.Y_test, k=k) for k in KS}
    return p | {"new_recall@5": new_recall(found, problem)}


def new_recall(found: Predictions, problem: Problem) -> float:
    """The percentage of the test instances' new labels that are listed."""
    truth = problem.Y_test[:, problem.n_old :].astype(bool)
    listed = found.to_csr()[:, problem.n_old :].astype(bool)
    return 100 * float(truth.multiply(listed).sum()) / max(truth.nnz, 1)


def stopwatch(work: Callable[[], Any]) -> float:
    """Seconds that it takes; garbage is collected before, not during."""
    gc.collect()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.updates",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="data folders")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3, help="timed turns for each seed")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--overlap", type=int, default=1, help="leaves of a label at most")
    parser.add_argument("--no-store", action="store_true", help="only print")
    return parser.parse_args(given)


def main() -> None:
    given = arguments()
    settings = {"n_threads": given.threads, "held_out": HELD_OUT, "overlap": given.overlap}
    results: dict[str, Any] = {}
    try:
        for source in given.data:
            results[source.name] = measure(
                load(source), seeds=given.seeds, rounds=given.rounds, n_jobs=given.threads,
                overlap=given.overlap,
            )  # fmt: skip
    except MultitudesError as error:
        sys.exit(str(error))
    name = "updates" if given.overlap == 1 else "updates-overlap"
    rows = rows_of(results)
    show_rows(name, rows, [*(f"P@{k}" for k in KS), "new_recall@5", "seconds"])
    finish(name, rows, settings=settings, store=not given.no_store)


if __name__ == "__main__":
    main()
