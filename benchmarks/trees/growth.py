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
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import RESULTS, Rounds, finish, rows_of, show_rows, together
from benchmarks.report.rows import Rows, middle
from benchmarks.trees.arena import precisions
from benchmarks.trees.contestants.process import load
from benchmarks.trees.data import sizes, write_matrices
from benchmarks.trees.long_tailed import long_tailed
from benchmarks.trees.trials import OURS, trial
from multitudes.data.pieces import write_pieces

MOST = 1.1  # what an exponent may be
ALL = "all sizes"


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
    return {
        **size,
        "nnz": size["nnz_features"] + size["nnz_labels"],
        **costs(answers),
        "clusters": str(answers[0]["clusters"]),
        "p1": precision[0],
        "limited": limited,
    }


def costs(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What a record has of some trainings."""
    turns = [
        {
            "seconds": one["seconds"],
            "cpu_seconds": one["cpu_seconds"],
            "peak_mb": one["peak_mb"],
            "own_peak_mb": one["own_peak_mb"],
            "fixed_mb": one["start_mb"] - one["data_mb"],
            "model_mb": one["model_bytes"] / 2**20,
        }
        for one in answers
    ]
    return together(turns, Rounds)


def under_limit(
    order: dict[str, Any], limit: str, rounds: int, within: dict[str, Any]
) -> dict[str, Any]:
    """Train from pieces with a limit of memory: what that costs, and if the model is the same."""
    folder = Path(order["folder"])
    write_pieces(folder / "pieces", *load(str(folder), "X", "Y"))
    order = {**order, "memory_limit": limit, "model": str(folder / "limited")}
    answers = [trial(OURS, "train", order) for _ in range(rounds)]
    same = all(answer["sha256"] == within["sha256"] for answer in answers)
    return {"memory_limit": limit, **costs(answers), "same_model": same}


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


def exponents(rows: Rows) -> dict[str, float | None]:
    """How each measure grows with the values in X and Y, over all sizes."""
    sizes = [name for name, row in rows.items() if "nnz" in row["measures"]]
    limited = [name for name in sizes if f"{name}, limited" in rows]

    def slope(names: Sequence[str], amount: Callable[[str], float]) -> float | None:
        nnz = [value(rows, name, "nnz") for name in names]
        return exponent([amount(name) for name in names], nnz)

    return {
        "time_exponent": slope(sizes, lambda name: value(rows, name, "seconds")),
        "cpu_exponent": slope(sizes, lambda name: value(rows, name, "cpu_seconds")),
        "memory_exponent": slope(
            sizes, lambda name: value(rows, name, "peak_mb") - value(rows, name, "fixed_mb")
        ),
        "limited_time_exponent": slope(
            limited, lambda name: value(rows, f"{name}, limited", "seconds")
        ),
    }


def value(rows: Rows, name: str, measure: str) -> float:
    return middle(rows[name]["measures"][measure])


def with_kept(rows: Rows) -> Rows:
    """The sizes that were measured, and those of the record that were not."""
    before: Rows = json.loads((RESULTS / "growth.json").read_text())["rows"]
    merged = {name: row for name, row in before.items() if name != ALL} | rows
    return dict(sorted(merged.items(), key=lambda one: int(one[0].split()[0].replace(",", ""))))


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
    rows = rows_of(
        {
            f"{int(size):,} labels": measure(
                int(size), rounds=given.rounds, n_jobs=given.threads, random_state=given.seed,
                limit=given.memory,
            )
            for size in given.sizes.split(",")
        }
    )  # fmt: skip
    if given.keep:
        rows = with_kept(rows)
    show_rows(
        f"Training, {given.threads} threads", rows,
        ["seconds", "cpu_seconds", "peak_mb", "own_peak_mb", "fixed_mb", "model_mb", "p1"],
    )  # fmt: skip
    rows |= (found := rows_of({ALL: exponents(rows)}))
    show_rows(f"Exponents in nnz(X) + nnz(Y); at most {MOST}", found)
    settings = {"n_threads": given.threads, "most": MOST}
    finish("growth", rows, settings=settings, store=not given.no_store)


if __name__ == "__main__":
    main()
