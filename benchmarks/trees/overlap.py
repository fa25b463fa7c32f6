"""What do labels in two leaves cost? ``python -m benchmarks.trees.overlap --data DIR ...``.

XRLinear with the settings of `benchmarks.trees`, and the same under ``Disentangled`` at overlap 2.
Every training and every prediction has a fresh process, warmed up by a small problem; both take
turns, round i with seed i.

- Training: label embeddings, trees, matcher, leaves, rankers and notes on senses, not loading;
- ``batch_seconds``, ``batch_cpu_seconds``: all test instances at once;
- ``online_p50_ms``: median of single instances, from Python, one thread.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.report import finish, rows_of, show_rows
from benchmarks.trees.__main__ import of_prediction, of_training
from benchmarks.trees.arena import OVERLAP, XR_LINEAR, Answers, Arena
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
        **size,
        "training": {who: of_training(answers, rounds) for who, answers in trained.items()},
        "prediction": {who: of_prediction(answers) for who, answers in predicted.items()},
    }


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
    results: dict[str, Any] = {}
    for source in given.data:
        found = measure(source, rounds=given.rounds, n_jobs=given.threads, n_online=given.online)
        results[source.name] = found
        show_rows(source.name, rows_of(found))
    settings = {"n_threads": given.threads}
    finish(given.name, rows_of(results), settings=settings, store=not given.no_store)


if __name__ == "__main__":
    main()
