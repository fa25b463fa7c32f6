"""What do labels in two leaves cost? ``python -m benchmarks.trees.overlap --data DIR ...``.

XRLinear with the settings of `benchmarks.trees`, and the same under ``Disentangled`` at overlap 2.
Every training and every prediction has a fresh process, warmed up by a small problem; both take
turns, round i with seed i. What is extra is the time of overlap 2 in units of the plain tree's,
less 1: medians over rounds of neighboring runs.

- ``training_extra``, ``training_extra_cpu``: label embeddings, trees, matcher, leaves, rankers and
  notes on senses, not loading;
- ``prediction_extra``, ``prediction_extra_cpu``: all test instances at once;
- ``online_extra``: median of single instances, from Python, one thread;
- ``p1_diff``, ``p3_diff``, ``p5_diff``: what it gains on the test part, in points, mean of seeds.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.report import finish, show
from benchmarks.timing import cpu_ratio, ratio
from benchmarks.trees.__main__ import predicted_summary, trained_summary
from benchmarks.trees.arena import (
    KS,
    OVERLAP,
    XR_LINEAR,
    Answers,
    Arena,
    mean_precisions,
    timing_of,
)
from benchmarks.trees.data import export
from benchmarks.trees.trials import OURS

BOTH = (OURS, OVERLAP)
REPEATS = 5  # batches of each predicting process, of which the median counts


def measure(source: Path, *, rounds: int, n_jobs: int, n_online: int) -> dict[str, Any]:
    """Everything about one data set."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        size = export(source, folder, as_text=False)
        arena = Arena(folder, n_jobs, rounds, seeds=rounds)
        for who in BOTH:  # compiling happens here, not under a stopwatch that counts
            arena.train_once(who, XR_LINEAR, 0)
            arena.predict_once(who, n_online=1, repeats=1)
        trained: Answers = {who: [] for who in BOTH}
        predicted: Answers = {who: [] for who in BOTH}
        for seed in range(rounds):
            for who in BOTH:
                trained[who].append(arena.train_once(who, XR_LINEAR, seed))
            for who in BOTH:
                found = arena.predict_once(who, n_online=n_online, repeats=REPEATS)
                predicted[who].append(found)
    return {
        **extra(trained, predicted),
        "sizes": size,
        "training": {who: trained_summary(answers, rounds) for who, answers in trained.items()},
        "prediction": {who: predicted_summary(answers) for who, answers in predicted.items()},
        "rounds": rounds_of(trained),
    }


def extra(trained: Answers, predicted: Answers) -> dict[str, float]:
    """What overlap 2 takes and gains beyond the plain tree."""
    fit = {who: timing_of(answers) for who, answers in trained.items()}
    batch = {who: timing_of(a, "batch_s", "batch_cpu_s") for who, a in predicted.items()}
    online = {who: timing_of(a, "online_p50_s", "online_p50_s") for who, a in predicted.items()}
    n_seeds = len(trained[OURS])
    plain, ours = (mean_precisions(trained[who], n_seeds) for who in BOTH)
    return {
        "training_extra": ratio(fit[OVERLAP], fit[OURS]) - 1,
        "training_extra_cpu": cpu_ratio(fit[OVERLAP], fit[OURS]) - 1,
        "prediction_extra": ratio(batch[OVERLAP], batch[OURS]) - 1,
        "prediction_extra_cpu": cpu_ratio(batch[OVERLAP], batch[OURS]) - 1,
        "online_extra": ratio(online[OVERLAP], online[OURS]) - 1,
        **{f"p{k}_diff": b - a for k, a, b in zip(KS, plain, ours, strict=True)},
    }


def rounds_of(trained: Answers) -> dict[str, list[dict[str, Any]]]:
    """Seed, seconds, CPU seconds and precision of each training."""
    kept = ("random_state", "seconds", "cpu_seconds", "p")
    return {who: [{k: one[k] for k in kept} for one in own] for who, own in trained.items()}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.trees.overlap",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="data folders")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each, with as many seeds")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--online", type=int, default=1000, help="single instances")
    parser.add_argument("--name", default="trees-overlap", help="of the record")
    parser.add_argument("--no-store", action="store_true", help="only print")
    given = parser.parse_args(arguments)
    results: dict[str, Any] = {"n_threads": given.threads, "sets": {}}
    for source in given.data:
        found = measure(source, rounds=given.rounds, n_jobs=given.threads, n_online=given.online)
        results["sets"][source.name] = found
        numbers = [(key, f"{v:.2f}") for key, v in found.items() if isinstance(v, float)]
        show(source.name, ("", ""), numbers)
    finish(given.name, results, store=not given.no_store)


if __name__ == "__main__":
    main()
