"""How do time and memory of training grow? ``python -m benchmarks.trees.growth``.

Problems with long tails (see `long_tailed`), as many instances as labels, one process each. The
exponent is the slope, by least squares, of the logarithm of seconds (or megabytes) over that of
nnz(X) + nnz(Y). Seconds are those of ``fit``, tree building included. Megabytes are the peak of the
whole process, of which the exponent leaves out what the process held before any data: Python,
libraries and compiled kernels would flatten it.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import finish, show
from benchmarks.trees.arena import precisions
from benchmarks.trees.data import sizes, write_matrices
from benchmarks.trees.long_tailed import long_tailed
from benchmarks.trees.trials import OURS, trial

MOST = 1.15  # what an exponent may be


def measure(n_labels: int, *, rounds: int, n_jobs: int, random_state: int) -> dict[str, Any]:
    """Train one size, in fresh processes."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        size = write_problem(n_labels, folder, random_state)
        order = {
            "folder": str(folder),
            "model": str(folder / "model"),
            "labels": str(folder / "labels.npy"),
            "branching": 16,
            "max_leaf_size": 100,
            "random_state": random_state,
            "n_jobs": n_jobs,
        }
        answers = [trial(OURS, "train", order) for _ in range(rounds)]
        precision = precisions(folder / "labels.npy", folder / "Y_test.npz")
    keys = ("seconds", "cpu_seconds", "peak_mb", "start_mb", "data_mb", "model_bytes")
    middle = {key: statistics.median(answer[key] for answer in answers) for key in keys}
    return {
        **size,
        "nnz": size["nnz_features"] + size["nnz_labels"],
        "seconds": middle["seconds"],
        "cpu_seconds": middle["cpu_seconds"],
        "peak_mb": middle["peak_mb"],
        "fixed_mb": middle["start_mb"] - middle["data_mb"],
        "model_mb": middle["model_bytes"] / 2**20,
        "clusters": answers[0]["clusters"],
        "p1": precision[0],
    }


def write_problem(n_labels: int, folder: Path, random_state: int) -> dict[str, int]:
    """Generate a problem on disk; nothing of it stays in memory."""
    X, Y, X_test, Y_test = long_tailed(n_labels, random_state=random_state)
    write_matrices(folder, X=X, Y=Y, X_test=X_test, Y_test=Y_test)
    return sizes(X, Y, X_test)


def exponent(amounts: Sequence[float], nnz: Sequence[float]) -> float | None:
    """The slope of log(amount) over log(nnz); None for a single size."""
    if len(amounts) < 2:
        return None
    return float(np.polyfit(np.log(nnz), np.log(amounts), 1)[0])


def summary(measured: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The exponents, and what was measured at each size."""
    nnz = [one["nnz"] for one in measured]
    return {
        "time_exponent": exponent([one["seconds"] for one in measured], nnz),
        "cpu_exponent": exponent([one["cpu_seconds"] for one in measured], nnz),
        "memory_exponent": exponent([one["peak_mb"] - one["fixed_mb"] for one in measured], nnz),
        "most": MOST,
        "largest_peak_gb": max(one["peak_mb"] for one in measured) / 1024,
        "sizes": list(measured),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trees.growth", description=__doc__)
    parser.add_argument("--sizes", default="10000,100000,1000000", help="numbers of labels")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each size")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-store", action="store_true", help="only print")
    given = parser.parse_args()
    measured = [
        measure(int(size), rounds=given.rounds, n_jobs=given.threads, random_state=given.seed)
        for size in given.sizes.split(",")
    ]
    results = summary(measured)
    rows = [
        (f"{one['labels']:,}", f"{one['nnz']:,}", f"{one['seconds']:.2f}", f"{one['peak_mb']:,.0f}",
         f"{one['fixed_mb']:,.0f}", f"{one['model_mb']:,.0f}", f"{one['p1']:.1f}")
        for one in measured
    ]  # fmt: skip
    columns = ("labels", "nnz", "fit, s", "peak, MB", "of it before data", "model, MB", "P@1")
    show(f"Training, {given.threads} threads", columns, rows)
    exponents = {name: results[f"{name}_exponent"] for name in ("time", "cpu", "memory")}
    show(
        f"Exponents in nnz(X) + nnz(Y); at most {MOST}",
        ("", "exponent"),
        [(name, "-" if slope is None else f"{slope:.3f}") for name, slope in exponents.items()],
    )
    finish("growth", {"n_threads": given.threads, **results}, store=not given.no_store)


if __name__ == "__main__":
    main()
