"""How fast do tree models predict? ``python -m benchmarks.trees.prediction --data DIR --keep DIR``.

The prediction part of `benchmarks.trees` by itself: XRLinear, the same under ``Disentangled`` at
overlap 2, and libpecos (HASH_CHUNKED, its fastest layout), with the settings of
`benchmarks.trees`, seed 0. Models are trained first, untimed, and kept in a folder, so that a
second run only predicts. Every prediction has a fresh process; contestants take turns, ratios are
medians over rounds.

- ``batch_speedup_pecos``, ``batch_cpu_speedup_pecos``: all test instances at once;
- ``online_speedup_pecos``: median of single instances, from Python, one thread;
- ``peak_rss_ratio_pecos``: peak memory of the whole process that loads and predicts;
- ``overlap_overhead_cpu``, ``overlap_overhead_online``: extra time of overlap 2 in units of the
  plain tree's.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from benchmarks.peers import version_of
from benchmarks.report import finish, show
from benchmarks.timing import cpu_ratio, ratio
from benchmarks.trees.__main__ import median, predicted_summary
from benchmarks.trees.arena import OVERLAP, XR_LINEAR, Answers, Arena, timing_of
from benchmarks.trees.data import export
from benchmarks.trees.trials import OURS

PECOS = "pecos"


def train(source: Path, folder: Path, n_jobs: int) -> None:
    """Export the data and train all contestants, where that was not done before."""
    if not (folder / "X_test.npz").exists():
        folder.mkdir(parents=True, exist_ok=True)
        export(source, folder, as_text=False)
    arena = Arena(folder, n_jobs, rounds=1, seeds=1)
    for who in (OURS, OVERLAP, PECOS):
        if not arena.model_of(who).exists():
            arena.train_once(who, XR_LINEAR, 0)


def compared(answers: Answers) -> dict[str, Any]:
    """Ratios, and the medians they come from."""
    batch = {w: timing_of(a, "batch_s", "batch_cpu_s") for w, a in answers.items()}
    online = {w: timing_of(a, "online_p50_s", "online_p50_s") for w, a in answers.items()}
    return {
        "batch_speedup_pecos": ratio(batch[PECOS], batch[OURS]),
        "batch_cpu_speedup_pecos": cpu_ratio(batch[PECOS], batch[OURS]),
        "online_speedup_pecos": ratio(online[PECOS], online[OURS]),
        "peak_rss_ratio_pecos": median(answers[OURS], "peak_mb")
        / median(answers[PECOS], "peak_mb"),
        "overlap_overhead_cpu": cpu_ratio(batch[OVERLAP], batch[OURS]) - 1,
        "overlap_overhead_online": ratio(online[OVERLAP], online[OURS]) - 1,
        "prediction": {
            who: {**predicted_summary(found), "peak_mb": median(found, "peak_mb")}
            for who, found in answers.items()
        },
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.trees.prediction",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="data folders")
    parser.add_argument("--keep", type=Path, required=True, help="folder for data and models")
    parser.add_argument("--rounds", type=int, default=3, help="predictions of each contestant")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--online", type=int, default=1000, help="single instances")
    parser.add_argument("--train-only", action="store_true", help="prepare a run that predicts")
    parser.add_argument("--no-store", action="store_true", help="only print")
    given = parser.parse_args(arguments)
    results: dict[str, Any] = {
        "n_threads": given.threads,
        "peers": {PECOS: version_of(PECOS)},
        "sets": {},
    }
    for source in given.data:
        folder = given.keep / source.name
        train(source, folder, given.threads)
        if given.train_only:
            continue
        arena = Arena(folder, given.threads, given.rounds, 1)
        found = compared(arena.predict((OURS, OVERLAP, PECOS), n_online=given.online, repeats=5))
        results["sets"][source.name] = found
        numbers = [
            (key, f"{value:.2f}") for key, value in found.items() if isinstance(value, float)
        ]
        show(source.name, ("", ""), numbers)
    if not given.train_only:
        finish("trees-prediction", results, store=not given.no_store)


if __name__ == "__main__":
    main()
