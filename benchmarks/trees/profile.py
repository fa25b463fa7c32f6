"""Where the training time goes, and how near the solver is to the memory's limit.

One thread, so that a kernel's time is its own. The solver reads a row of 64 bytes (16 lanes) per
value of an instance when it computes margins, and reads and writes it again when it updates: the
bytes it moves, over its time, stand against what plain copies reach on the same machine.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import finish, rows_of, show
from benchmarks.trees.data import features
from multitudes.data import ReadOptions, read_dataset
from multitudes.linear import XRLinear, train_children

LANE_ROW = 64  # bytes of one feature's weights for 16 labels


def copy_rate(n_bytes: int, seconds: float = 0.3) -> float:
    """Bytes per second read and written by copying a block of this many bytes back and forth."""
    source, target = np.ones(n_bytes // 8, np.int64), np.empty(n_bytes // 8, np.int64)
    copied, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        for _ in range(20):
            np.copyto(target, source)
        copied += 40 * n_bytes
    return copied / (time.perf_counter() - started)


def profile_fit(X: Any, Y: Any) -> tuple[float, list[tuple[str, float]], dict[str, float]]:
    """(seconds, [(function, seconds)], what the solver did) of one fit on one thread."""
    solved = {"seconds": 0.0, "visits": 0.0, "epochs": 0.0, "blocks": 0.0}
    original = train_children.solve_lanes

    def counted(*arguments: Any) -> int:
        started = time.perf_counter()
        epochs: int = original(*arguments)
        solved["seconds"] += time.perf_counter() - started
        solved["visits"] += epochs * float((arguments[1] - arguments[0]).sum())
        solved["epochs"] += epochs
        solved["blocks"] += 1
        return epochs

    train_children.solve_lanes = counted
    try:
        profiler = cProfile.Profile()
        started = time.perf_counter()
        profiler.runcall(XRLinear(n_jobs=1).fit, X, Y)
        seconds = time.perf_counter() - started
    finally:
        train_children.solve_lanes = original
    stats: Any = pstats.Stats(profiler)
    own = [
        (f"{Path(file).stem}.{name}", values[2])
        for (file, _, name), values in stats.stats.items()
        if "kernels" in file or values[2] > 0.02 * seconds
    ]
    own = [(name, spent) for name, spent in own if name != "profile.counted"]
    own.append(("dual_descent.solve_lanes", solved["seconds"]))
    return seconds, sorted(dict(own).items(), key=lambda pair: -pair[1])[:10], solved


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, nargs="+", help="data folders")
    parser.add_argument("--no-store", action="store_true", help="print only")
    given = parser.parse_args()
    rates = {"near (512 KB)": copy_rate(1 << 19), "far (256 MB)": copy_rate(1 << 28)}
    results: dict[str, Any] = {"copy_gb_per_s": {k: v / 1e9 for k, v in rates.items()}}
    for folder in given.data:
        training = read_dataset(folder, options=ReadOptions(split="trn"))
        X, Y = features(training, training)[0], training.Y
        XRLinear(n_jobs=1).fit(X[:2000], Y[:2000])  # compile
        seconds, spent, solved = profile_fit(X, Y)
        rate = 3 * LANE_ROW * solved["visits"] / solved["seconds"]
        show(
            f"{folder.name}: {seconds:.2f} s on one thread",
            ("function", "s", "share"),
            [(name, f"{s:.2f}", f"{s / seconds:.0%}") for name, s in spent],
        )
        results[folder.name] = {
            "seconds": seconds,
            "spent": dict(spent),
            "epochs_per_block": solved["epochs"] / solved["blocks"],
            "ns_per_visit": 1e9 * solved["seconds"] / solved["visits"],
            "solver_gb_per_s": rate / 1e9,
        }
    finish("profile", rows_of(results), store=not given.no_store)


if __name__ == "__main__":
    main()
