"""What does it cost to check arguments? ``python -m benchmarks.door``.

Every matrix is checked, and its indices copied, before a kernel reads it. In one process, by turns,
on generated data (word counts by Zipf's law, labels that depend on them):

- ``share_of_fit``: seconds of checking X and y, in those of `XRLinear.fit`;
- ``share_of_predict``: seconds of checking X, in those of predicting all rows at once;
- ``ns_per_value``: of checking X, for each value it stores;
- ``single``: microseconds of checking one row of some values, and of predicting it, in medians; the
  first should grow with the row and not with the data.

Shares are medians over rounds, of CPU seconds (``cpu``), and of wall-clock seconds with all threads
(``wall``), which say something on a quiet machine only. Checks of X take the threads that `fit` and
`predict` take, and their seconds here include starting these, which `predict` has to do anyway.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.machine import usable_cores
from benchmarks.report import Rounds, at_least_one, finish, rows_of, show_rows, together
from multitudes.kernels.threads import ThreadTeam
from multitudes.linear import XRLinear
from multitudes.validation import checked_features, checked_labels

ROW_SIZES = (1, 10, 100, 1000, 10_000)
LABELS_PER_INSTANCE = 3


def main() -> None:
    """Measure, show and store."""
    options = _options()
    X, Y = generated(options.instances, options.features, options.labels, options.per_row)
    model = XRLinear(n_jobs=options.threads).fit(X, Y)
    model.predict(X)
    settings = {
        "instances": X.shape[0],
        "features": X.shape[1],
        "labels": Y.shape[1],
        "values": int(X.nnz),
        "threads": options.threads or usable_cores(),
    }
    singles = {
        f"one row of {size:,} values": single(model, size)
        for size in ROW_SIZES
        if size <= X.shape[1]
    }
    rows = rows_of({**timed(model, X, Y, options.rounds), **singles})
    show_rows(f"checking {X.nnz:,} values, {settings['threads']} threads", rows)
    finish("door", rows, settings=settings, store=not options.no_store)


def generated(n: int, n_features: int, n_labels: int, per_row: int) -> tuple[Any, Any]:
    """X with about `per_row` values a row, some features frequent, and labels that follow them."""
    rng = np.random.default_rng(0)
    drawn = (n_features * rng.random((n, per_row)) ** 4).astype(np.int64)
    rows = np.repeat(np.arange(n), per_row)
    values = rng.random(n * per_row).astype(np.float32)
    X = sp.csr_array((values, (rows, drawn.ravel())), shape=(n, n_features))
    chosen = (drawn[:, :LABELS_PER_INSTANCE] * 31) % n_labels
    ones = np.ones(chosen.size, np.float32)
    members = np.repeat(np.arange(n), LABELS_PER_INSTANCE)
    Y = sp.csr_array((ones, (members, chosen.ravel())), shape=(n, n_labels))
    Y.data.fill(1)
    return X, Y


def timed(model: XRLinear, X: Any, Y: Any, rounds: int) -> dict[str, Any]:
    """Seconds of the checks beside what they guard, by turns."""
    again = XRLinear(n_jobs=model.n_jobs)
    work: dict[str, Callable[[], Any]] = {
        "check_fit": lambda: check_fit(X, Y, model.n_jobs),
        "fit": lambda: again.fit(X, Y),
        "check_predict": lambda: model.known_features(X),
        "predict": lambda: model.predict(X),
    }
    turns: dict[str, list[dict[str, float]]] = {name: [] for name in work}
    for _ in range(rounds):
        for name, run in work.items():
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            cpu = time.process_time() - cpu
            turn = {"seconds": time.perf_counter() - wall, "cpu_seconds": cpu}
            turns[name].append(turn | {"ns_per_value": 1e9 * cpu / X.nnz})
    return {name: together(own, Rounds) for name, own in turns.items()}


def check_fit(X: Any, Y: Any, n_jobs: int | None) -> None:
    """Check what `fit` is given, as it does."""
    with ThreadTeam(n_jobs) as team:
        checked_features(X, team=team)
    checked_labels(Y, n_instances=X.shape[0])


def single(model: XRLinear, size: int, repeats: int = 300) -> dict[str, float]:
    """Medians of microseconds for one row of `size` values."""
    rng = np.random.default_rng(1)
    columns = np.sort(rng.choice(model.n_features_in_, size, replace=False)).astype(np.int32)
    parts: Any = (np.ones(size, np.float32), columns, np.array([0, size], np.int32))
    x = sp.csr_array(parts, shape=(1, model.n_features_in_))
    found = {"values": size}
    for name, run in (("check_us", model.known_features), ("predict_us", model.predict)):
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            run(x)
            times.append(time.perf_counter() - start)
        found[name] = round(1e6 * statistics.median(times), 1)
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--instances", type=at_least_one, default=20_000)
    parser.add_argument("--features", type=at_least_one, default=50_000)
    parser.add_argument("--labels", type=at_least_one, default=2_000)
    parser.add_argument("--per-row", type=at_least_one, default=80)
    parser.add_argument("--rounds", type=at_least_one, default=5)
    parser.add_argument("--threads", type=at_least_one, default=None)
    parser.add_argument("--no-store", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
