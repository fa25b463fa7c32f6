"""Numbers of `benchmarks.groups`: means over seeds, gains, the part of the gap that is closed."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks.groups_study import BASELINE, CONTRAST, EAGLE, ORACLE, ROUNDS, START, Run, Runs

FOUR, TEN = "R-4", "R-10"
P1, P5 = 0, 2


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """One data set: the headline numbers first, then everything behind them.

    Parameters
    ----------
    found : dict
        What `groups_study.study` returns.
    """
    oracle = found["oracle"]
    settings = {
        name: {method: method_summary(own) for method, own in {ORACLE: oracle, **runs}.items()}
        for name, runs in (found["settings"] | found["sweep"]).items()
        if runs[EAGLE]
    }
    return {
        **headlines(found["settings"], oracle),
        "memory_factor": found["memory_factor"],
        "sizes": found["sizes"],
        "depth": found["depth"],
        "settings": settings,
    }


def headlines(settings: dict[str, Runs], oracle: Sequence[Run]) -> dict[str, Any]:
    """What the tables come down to; what was not run is left out."""
    numbers: dict[str, Any] = {}
    if FOUR in settings:
        runs = settings[FOUR]
        numbers |= {
            "r4_p1_gain": gain(runs, EAGLE, BASELINE, P1),
            "r4_p5_gain": gain(runs, EAGLE, BASELINE, P5),
            "r4_over_eagle0": gain(runs, EAGLE, START, P1),
            "r4_gap_closed": gap_closed(runs, oracle, ROUNDS),
            "impute_accuracy_r4": float(np.mean([run.accuracy for run in runs[EAGLE]])),
            **seconds(runs),
        }
    if TEN in settings:
        runs = settings[TEN]
        numbers |= {
            "r10_p1_gain": gain(runs, EAGLE, BASELINE, P1),
            "r10_gap_closed": gap_closed(runs, oracle, ROUNDS),
            "r10_gap_closed_contrast": gap_closed(runs, oracle, CONTRAST),
            **{f"r10_{key}": value for key, value in seconds(runs).items()},
        }
    return numbers


def gain(runs: Runs, ours: str, theirs: str, k: int) -> float | None:
    """By how many points the one is better, in the mean over seeds; None if one was not run."""
    if not runs.get(theirs):
        return None
    return mean_p(runs[ours])[k] - mean_p(runs[theirs])[k]


def gap_closed(runs: Runs, oracle: Sequence[Run], ours: str) -> float:
    """Part of the distance between EAGLE and the oracle, at P@5."""
    low, high = mean_p(runs[EAGLE])[P5], mean_p(oracle[: len(runs[EAGLE])])[P5]
    return (mean_p(runs[ours])[P5] - low) / (high - low)


def seconds(runs: Runs) -> dict[str, float]:
    """Medians over seeds: imputing, training on imputed labels, and both against the baseline."""
    numbers = {
        "impute_seconds": median(runs[EAGLE], "impute_s"),
        "solver_seconds": median(runs[EAGLE], "train_s"),
        "impute_over_solver": ratio(runs[EAGLE], ("impute_s",), runs[EAGLE]),
        "impute_over_solver_cpu": ratio(runs[EAGLE], ("impute_cpu_s",), runs[EAGLE], cpu=True),
    }
    if runs.get(BASELINE):
        total = ("impute_s", "train_s")
        numbers["baseline_seconds"] = median(runs[BASELINE], "train_s")
        numbers["eagle_over_baseline"] = ratio(runs[EAGLE], total, runs[BASELINE])
    return numbers


def ratio(
    ours: Sequence[Run], keys: Sequence[str], theirs: Sequence[Run], *, cpu: bool = False
) -> float:
    """The median over seeds of some seconds over the training seconds of other runs."""
    own = "train_cpu_s" if cpu else "train_s"
    return statistics.median(
        sum(getattr(one, key) for key in keys) / getattr(other, own)
        for one, other in zip(ours, theirs, strict=True)
    )


def median(runs: Sequence[Run], key: str) -> float:
    return statistics.median(getattr(run, key) for run in runs)


def mean_p(runs: Sequence[Run]) -> list[float]:
    found: list[float] = np.mean([run.p for run in runs], axis=0).tolist()
    return found


def method_summary(runs: Sequence[Run]) -> dict[str, Any]:
    """One method over its seeds: mean and standard deviation of P@1, 3 and 5, and all runs."""
    p = np.array([run.p for run in runs])
    return {
        "seeds": len(runs),
        "p": p.mean(axis=0).tolist(),
        "p_deviation": p.std(axis=0, ddof=1).tolist() if len(runs) > 1 else None,
        "runs": [asdict(run) for run in runs],
    }
