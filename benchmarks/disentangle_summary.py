"""Numbers of `benchmarks.disentangle`: means over seeds, 95% t-intervals, gains and overheads."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import stdtrit

from benchmarks.disentangle_study import BASELINE, DISENTANGLED, KS, RANDOM, Run, Runs

CONFIDENCE = 0.95


def mean_and_margin(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean, and the half-width of its t-interval; None for a single value."""
    n = len(values)
    if n < 2:
        return float(np.mean(values)), None
    quantile = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))
    return float(np.mean(values)), quantile * statistics.stdev(values) / n**0.5


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """One data set: the headline numbers first, then everything behind them.

    Parameters
    ----------
    found : dict
        What `disentangle_study.study` returns.
    """
    runs, seeds = found["runs"], found["seeds"]
    settings = {name: setting_summary(own, runs, seeds) for name, own in runs.items()}
    fusions = [fusion_summary(one) for one in found["fusions"]]
    gains, random_gains = settings[DISENTANGLED]["gain"], settings[RANDOM]["gain"]
    return {
        **{f"p{k}_gain": gain for k, gain in zip(KS, gains, strict=True)},
        "p5_gain_random": random_gains[KS.index(5)],
        "train_overhead": overhead(runs, "train_s"),
        "predict_overhead": overhead(runs, "predict_s"),
        "train_cpu_overhead": overhead(runs, "train_cpu_s"),
        "predict_cpu_overhead": overhead(runs, "predict_cpu_s"),
        **{f"{one['mode']}_gain_rel_p5": one["gain_rel_p5"] for one in fusions if one["k"] == 2},
        "p5_gain_margin": settings[DISENTANGLED]["gain_margin"][KS.index(5)],
        "p5_gain_random_margin": settings[RANDOM]["gain_margin"][KS.index(5)],
        "sizes": found["sizes"],
        "seconds": found["seconds"],
        "overlaps": found["overlaps"],
        "settings": settings,
        "fusions": fusions,
    }


def setting_summary(own: Sequence[Run], runs: Runs, seeds: int) -> dict[str, Any]:
    """One setting over its seeds; gains are to the baseline of the same seeds."""
    p = [run.p for run in own[:seeds]]
    base = [run.p for run in runs[BASELINE][: len(p)]]
    gains = [mean_and_margin(column) for column in (np.array(p) - np.array(base)).T.tolist()]
    return {
        "seeds": len(p),
        "p": np.mean(p, axis=0).tolist(),
        "gain": [mean for mean, _ in gains],
        "gain_margin": [margin for _, margin in gains],
        "p_of_seeds": p,
        "slots": own[0].n_slots,
        "largest_leaf": max(run.largest_leaf for run in own),
        "train_s": statistics.median(run.train_s for run in own),
        "rounds": {
            key: [getattr(run, key) for run in own]
            for key in ("train_s", "train_cpu_s", "predict_s", "predict_cpu_s")
        },
    }


def fusion_summary(one: dict[str, Any]) -> dict[str, Any]:
    """P@5 on fused labels, and the gain in percent of the baseline's, seed by seed."""
    base, ours = (list(column) for column in zip(*one["p5"], strict=True))
    gain, margin = mean_and_margin([100 * (b / a - 1) for a, b in one["p5"]])
    return {
        "k": one["k"],
        "mode": one["mode"],
        "labels": one["labels"],
        "seeds": len(base),
        "p5_baseline": float(np.mean(base)),
        "p5_overlap": float(np.mean(ours)),
        "gain_rel_p5": gain,
        "gain_rel_p5_margin": margin,
        "p5_of_seeds": one["p5"],
    }


def overhead(runs: Runs, key: str) -> float:
    """Extra seconds of overlap 2 in units of the baseline's, from medians over rounds."""
    base, ours = (
        statistics.median(getattr(run, key) for run in runs[name])
        for name in (BASELINE, DISENTANGLED)
    )
    return float((ours - base) / base)
