"""How do time and memory of training grow? ``python -m benchmarks.trees.growth``.

Problems with long tails (see `long_tailed`), as many instances as labels, one process each. The
exponent is the slope, by least squares, of the logarithm of seconds (or megabytes) over that of
nnz(X) + nnz(Y). Seconds are those of ``fit``, tree building included. Megabytes are the peak of the
whole process, of which the exponent leaves out what the process held before any data: Python,
libraries and compiled kernels would flatten it.

With ``--memory 8GB`` each size is also trained out of core: from memory-mapped pieces, with
``memory_limit``, in a process to which the system gives no more memory than that (RLIMIT_DATA, from
fitting to predicting). Both models must have the same arrays, bit for bit. ``--keep`` leaves other
sizes of the record as they are, so that large ones can be measured one by one.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import RESULTS, finish, show
from benchmarks.trees.arena import precisions
from benchmarks.trees.contestants.process import load
from benchmarks.trees.data import sizes, write_matrices
from benchmarks.trees.long_tailed import long_tailed
from benchmarks.trees.trials import OURS, trial
from multitudes.data.pieces import write_pieces

MOST = 1.1  # what an exponent may be


def measure(
    n_labels: int, *, rounds: int, n_jobs: int, random_state: int, limit: str | None
) -> dict[str, Any]:
    """Train one size, in fresh processes; under a limit of memory too, if there is one."""
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
        limited = {} if limit is None else under_limit(order, limit, rounds, answers[0])
        precision = precisions(folder / "labels.npy", folder / "Y_test.npz")
    middle = medians(answers)
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
        **limited,
    }


def medians(answers: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The middle one of each measured number."""
    keys = ("seconds", "cpu_seconds", "peak_mb", "own_peak_mb", "peak_with_prediction_mb",
            "start_mb", "data_mb", "model_bytes")  # fmt: skip
    return {key: statistics.median(answer[key] for answer in answers) for key in keys}


def under_limit(
    order: dict[str, Any], limit: str, rounds: int, within: dict[str, Any]
) -> dict[str, Any]:
    """Train from pieces with a limit of memory: what that costs, and if the model is the same."""
    folder = Path(order["folder"])
    write_pieces(folder / "pieces", *load(str(folder), "X", "Y"))
    order = {**order, "memory_limit": limit, "model": str(folder / "limited")}
    answers = [trial(OURS, "train", order) for _ in range(rounds)]
    middle = medians(answers)
    return {
        "memory_limit": limit,
        "limited_seconds": middle["seconds"],
        "limited_cpu_seconds": middle["cpu_seconds"],
        "limited_own_peak_mb": middle["own_peak_mb"],
        "limited_peak_mb": middle["peak_mb"],
        "limited_same_model": all(answer["sha256"] == within["sha256"] for answer in answers),
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
        "limited_time_exponent": exponent(
            [one["limited_seconds"] for one in measured if "limited_seconds" in one],
            [one["nnz"] for one in measured if "limited_seconds" in one],
        ),
        "largest_peak_gb": max(one["peak_mb"] for one in measured) / 1024,
        "sizes": list(measured),
    }


def with_kept(measured: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The sizes that were measured, and those of the record that were not."""
    before = json.loads((RESULTS / "growth.json").read_text())["results"]["sizes"]
    sizes = {one["labels"]: one for one in [*before, *measured]}
    return [sizes[size] for size in sorted(sizes)]


def show_sizes(measured: Sequence[dict[str, Any]], n_threads: int) -> None:
    """Print a row for each size."""
    rows = [
        (f"{one['labels']:,}", f"{one['nnz']:,}", f"{one['seconds']:.2f}", f"{one['peak_mb']:,.0f}",
         f"{one['fixed_mb']:,.0f}", f"{one['model_mb']:,.0f}", f"{one['p1']:.1f}")
        for one in measured
    ]  # fmt: skip
    columns = ("labels", "nnz", "fit, s", "peak, MB", "of it before data", "model, MB", "P@1")
    show(f"Training, {n_threads} threads", columns, rows)
    rows = [
        (f"{one['labels']:,}", one["memory_limit"], f"{one['limited_seconds']:.2f}",
         f"{one['limited_seconds'] / one['seconds']:.2f}", f"{one['limited_own_peak_mb']:,.0f}",
         f"{one['limited_peak_mb']:,.0f}", "yes" if one["limited_same_model"] else "NO")
        for one in measured if "memory_limit" in one
    ]  # fmt: skip
    if rows:
        columns = ("labels", "limit", "fit, s", "ratio", "own peak, MB", "with maps", "same model")
        show("Under a limit of memory, from pieces", columns, rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trees.growth", description=__doc__)
    parser.add_argument("--sizes", default="10000,100000,1000000,3000000", help="labels")
    parser.add_argument("--memory", help="train under this limit of memory too, e.g. 8GB")
    parser.add_argument("--keep", action="store_true", help="keep other sizes of the record")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each size")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-store", action="store_true", help="only print")
    given = parser.parse_args()
    measured = [
        measure(int(size), rounds=given.rounds, n_jobs=given.threads, random_state=given.seed,
                limit=given.memory)
        for size in given.sizes.split(",")
    ]  # fmt: skip
    if given.keep:
        measured = with_kept(measured)
    results = summary(measured)
    show_sizes(measured, given.threads)
    exponents = {name: results[f"{name}_exponent"] for name in ("time", "cpu", "memory")}
    show(
        f"Exponents in nnz(X) + nnz(Y); at most {MOST}",
        ("", "exponent"),
        [(name, "-" if slope is None else f"{slope:.3f}") for name, slope in exponents.items()],
    )
    finish("growth", {"n_threads": given.threads, **results}, store=not given.no_store)


if __name__ == "__main__":
    main()
