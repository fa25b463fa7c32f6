"""What does label disentanglement gain, and cost? ``python -m benchmarks.disentangle --data DIR``.

XRLinear (branching 16, leaves of at most 100, beam 10) by itself and under ``Disentangled``, after
sections 5.1 to 5.3 and Appendix A.8 of the paper:

- baseline: the wrapped model; overlap 1 to 6: one round, the default cap on cluster sizes;
- matcher kept: overlap 2 without finetuning the levels above the leaves;
- as published: overlap 2 with a copy of every label, whole beams for assigning and predicting, and
  the solver's full tolerance, where the defaults save time; only the cap is not the paper's;
- random copies: as many copies of each label as overlap 2 has, in leaves drawn at random, and
  everything trained on them in the same way;
- fusions: every k labels made one, alike ones (easy), random ones among alike ones (medium), or
  random ones (hard); P@5 of baseline and overlap 2, and the gain in percent of the baseline's.

All settings are fixed in advance; nothing is chosen on the test split. Precisions are percentages,
gains points, means over seeds; a seed decides the tree, the solver's order, and what is random.
Gains are taken seed by seed, and +/- is the half-width of their 95% t-interval over seeds (none
for a single seed). It tells how far seeds matter, not how far another test split would.

Each data set has a process of its own. After a warm-up on a part of the data, baseline and overlap
2 train and predict in turns; ``train_overhead`` and ``predict_overhead`` are the extra time of
overlap 2 in units of the baseline's, from medians. Training includes label embeddings, tree
building and assigning; prediction is of all test instances by a model in memory. Filter pairs are
not applied.

A data set of more than 20,000 training instances has 1 seed for overlaps other than 2 and for
fusions, and k = 2 alone: ``--study-seeds`` and ``--large-fusions`` ask for more.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.disentangle.figures import draw
from benchmarks.disentangle.study import (
    BASELINE,
    DISENTANGLED,
    KEPT,
    KS,
    PAPER,
    RANDOM,
    Plan,
    Run,
    Runs,
    overlap_name,
    study,
)
from benchmarks.report import (
    at_least_one,
    finish,
    mean_and_margin,
    show,
    whole_numbers,
    with_margin,
)
from multitudes.errors import MultitudesError, require


def measure(source: Path, plan: Plan) -> dict[str, Any]:
    """One data set, in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return summary(pool.submit(study, source, plan).result())


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """One data set: the headline numbers first, then everything behind them.

    Parameters
    ----------
    found : dict
        What `study.study` returns.
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


def show_result(name: str, result: dict[str, Any]) -> None:
    """The tables of one data set."""
    settings = result["settings"]
    names = [BASELINE, RANDOM, *(overlap_name(n) for n in result["overlaps"]), KEPT, PAPER]
    rows = [setting_row(one, settings[one], result["sizes"]["labels"]) for one in names]
    precision = tuple(f"P@{k}" for k in KS)
    show(name, ("", "seeds", *precision, "copies", "max leaf", "fit, s"), rows)
    show(f"{name}: gains", ("", *precision), [gain_row(one, settings[one]) for one in names[1:]])
    fusions = [
        (f"{one['mode']}, k = {one['k']}", f"{one['labels']:,}", str(one["seeds"]),
         f"{one['p5_baseline']:.2f}", f"{one['p5_overlap']:.2f}",
         with_margin(one["gain_rel_p5"], one["gain_rel_p5_margin"]))
        for one in result["fusions"]
    ]  # fmt: skip
    if fusions:
        columns = ("fusions", "labels", "seeds", "P@5 baseline", "P@5 overlap 2", "gain, %")
        show(name, columns, fusions)
    numbers = [(key, f"{v:.3f}") for key, v in result.items() if isinstance(v, float)]
    show(f"{name}: overlap 2 against the baseline", ("", ""), numbers)


def setting_row(name: str, one: dict[str, Any], n_labels: int) -> tuple[str, ...]:
    """Precision and size of a setting; copies are per label."""
    return (
        name,
        str(one["seeds"]),
        *(f"{p:.2f}" for p in one["p"]),
        f"{one['slots'] / n_labels:.2f}",
        str(one["largest_leaf"]),
        f"{one['train_s']:.2f}",
    )


def gain_row(name: str, one: dict[str, Any]) -> tuple[str, ...]:
    """What a setting gains over the baseline of the same seeds."""
    gains = zip(one["gain"], one["gain_margin"], strict=True)
    return (name, *(with_margin(*gain) for gain in gains))


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.disentangle",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    default = Plan()
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="data folders")
    parser.add_argument("--seeds", type=at_least_one, default=default.seeds)
    parser.add_argument("--overlaps", type=whole_numbers, default=default.overlaps)
    parser.add_argument("--fusions", type=whole_numbers, default=default.fusions, help="'': none")
    parser.add_argument("--study-seeds", type=at_least_one, help="of other overlaps and fusions")
    parser.add_argument("--large-fusions", type=whole_numbers, default=default.large_fusions)
    parser.add_argument("--rounds", type=at_least_one, default=default.rounds, help="timed turns")
    parser.add_argument("--threads", type=at_least_one, default=default.n_jobs)
    parser.add_argument("--no-store", action="store_true", help="only print")
    parser.add_argument("--figures", type=Path, help="folder to draw figures in; none by default")
    return parser.parse_args(given)


def main() -> None:
    given = arguments()
    plan = Plan(
        seeds=given.seeds,
        overlaps=given.overlaps,
        fusions=given.fusions,
        study_seeds=given.study_seeds,
        large_fusions=given.large_fusions,
        rounds=given.rounds,
        n_jobs=given.threads,
    )
    results: dict[str, Any] = {"n_threads": given.threads, "sets": {}}
    try:
        if given.figures is not None:
            require("matplotlib", extra="dev")  # not after ten minutes of work
        for source in given.data:
            results["sets"][source.name] = measure(source, plan)
            show_result(source.name, results["sets"][source.name])
    except MultitudesError as error:
        sys.exit(str(error))
    for path in [] if given.figures is None else draw(results["sets"], given.figures):
        print(f"drawn: {path}")
    finish("disentangle", results, store=not given.no_store)


if __name__ == "__main__":
    main()
