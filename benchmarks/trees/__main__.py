"""How fast are tree models? ``python -m benchmarks.trees --data DIR``.

XRLinear against libpecos with the same settings (branching 16, leaves of at most 100, squared
hinge, cost 1, weights up to 0.1 dropped, beam 10), each with its own tolerance (epsilon is 0.3 in
ours, 0.1 in libpecos; leaves of ours keep weights above 0.06), and a binary tree against one tree
of omikuji and of napkinXC. Every run has a fresh process that loads the same NPZ files and trains a
small problem for warming up; contestants take turns, and ratios are medians over rounds.

- Training includes label embeddings and tree building, not loading. Trees need not have the same
  levels: ``clusters`` says how many each level of ours and of libpecos' has.
- Peak memory is that of the whole process up to the end of training: interpreter, libraries,
  compiled code and data included. ``training_mb`` leaves out what was there when training began.
- A batch is all test instances; single instances are predicted one by one from Python on one
  thread, and their median counts.
- Compiling is apart: ``jit_first_s`` is the first fit and prediction of a small problem with an
  empty cache of compiled code, ``jit_again_s`` the same in the next process.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers import REQUIREMENTS, version_of
from benchmarks.report import Rounds, finish, rows_of, show_rows, together
from benchmarks.trees.arena import (
    KS,
    PARABEL,
    XR_LINEAR,
    Answers,
    Arena,
)
from benchmarks.trees.data import export, write_matrices
from benchmarks.trees.long_tailed import long_tailed
from benchmarks.trees.trials import OURS, trial

BINARY_PEERS = ("omikuji", "napkinxc")
PRECISION = tuple(f"P@{k}" for k in KS)


def measure(
    source: Path,
    peers: Sequence[str],
    *,
    rounds: int,
    seeds: int,
    n_jobs: int,
    n_online: int,
    training_only: bool = False,
) -> dict[str, Any]:
    """Everything about one data set."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        size = export(source, folder, as_text="omikuji" in peers)
        arena = Arena(folder, n_jobs, rounds, seeds)
        # First of all, so that compiling happens here and not under a stopwatch that counts.
        by_type = {} if training_only else weight_types(arena)
        if training_only:
            arena.train_once(OURS, XR_LINEAR, 0)
        wide = [OURS, *(peer for peer in peers if peer == "pecos")]
        trained = arena.train(wide, XR_LINEAR)
        predicted = {} if training_only else arena.predict(wide, n_online=n_online)
        binary_peers = [peer for peer in peers if peer in BINARY_PEERS]
        binary = arena.train([OURS, *binary_peers], PARABEL) if binary_peers else {}
    if by_type:
        by_type["float16"] = trained[OURS]
    return {
        **size,
        "weights": {kind: of_training(answers, seeds) for kind, answers in by_type.items()},
        "xr_linear": {who: of_training(answers, seeds) for who, answers in trained.items()},
        "prediction": {who: of_prediction(answers) for who, answers in predicted.items()},
        "binary_tree": {who: of_training(answers, seeds) for who, answers in binary.items()},
    }


def weight_types(arena: Arena) -> Answers:
    """Our model with weights kept as float32 and as int8, for every seed."""
    return {
        weights: [
            arena.train_once(OURS, XR_LINEAR, random_state, weights=weights)
            for random_state in range(arena.seeds)
        ]
        for weights in ("float32", "int8")
    }


def of_training(answers: Sequence[dict[str, Any]], seeds: int) -> dict[str, Any]:
    """What a record has of one contestant's training: costs by round, precision by seed."""
    costs = [
        {
            "seconds": one["seconds"],
            "cpu_seconds": one["cpu_seconds"],
            "peak_mb": one["peak_mb"],
            "training_mb": one["peak_mb"] - one["start_mb"],
            "model_mb": one["model_bytes"] / 2**20,
        }
        for one in answers
    ]
    precision = [dict(zip(PRECISION, one["p"], strict=True)) for one in answers[:seeds]]
    levels = {"clusters": str(answers[0].get("clusters"))}
    return {**together(costs, Rounds), **together(precision), **levels}


def of_prediction(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What a record has of one contestant's prediction."""
    turns = [
        {
            "batch_seconds": one["batch_s"],
            "batch_cpu_seconds": one["batch_cpu_s"],
            "batch_ms_per_instance": 1e3 * one["batch_s"] / one["n_batch"],
            "online_p50_ms": 1e3 * one["online_p50_s"],
            "online_p99_ms": 1e3 * one["online_p99_s"],
            "peak_mb": one["peak_mb"],
        }
        for one in answers
    ]
    return together(turns, Rounds)


def compile_times(n_jobs: int) -> dict[str, float]:
    """Seconds of the first use: on a new machine, and in every later process."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        X, Y, X_test, Y_test = long_tailed(500, n_test=100)
        write_matrices(folder, X=X, Y=Y, X_test=X_test, Y_test=Y_test)
        order = {
            "folder": str(folder),
            "branching": 4,
            "max_leaf_size": 20,
            "random_state": 0,
            "n_jobs": n_jobs,
        }
        cache = {"NUMBA_CACHE_DIR": str(folder / "compiled")}
        first = trial(OURS, "compile_time", order, environment=cache)
        again = trial(OURS, "compile_time", order, environment=cache)
    return {
        "jit_first_s": first["first"]["seconds"],
        "jit_first_cpu_s": first["first"]["cpu_seconds"],
        "jit_again_s": again["first"]["seconds"],
        "jit_again_cpu_s": again["first"]["cpu_seconds"],
        "jit_nothing_left_s": again["second"]["seconds"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.trees",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="data folders")
    parser.add_argument("--peers", default="pecos,omikuji,napkinxc", help="'' for none")
    parser.add_argument("--rounds", type=int, default=3, help="timed runs of each contestant")
    parser.add_argument("--seeds", type=int, default=3, help="seeds to average precision over")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--online", type=int, default=1000, help="single instances")
    parser.add_argument("--training-only", action="store_true", help="do not time prediction")
    parser.add_argument("--no-jit", action="store_true", help="do not time compiling")
    parser.add_argument("--record", help="name of the stored record")
    parser.add_argument("--no-store", action="store_true", help="only print")
    given = parser.parse_args()
    peers = [peer for peer in given.peers.split(",") if peer]
    unknown = [peer for peer in peers if peer not in REQUIREMENTS]
    if unknown:
        parser.error(f"no peer {unknown[0]!r}; known: {', '.join(REQUIREMENTS)}")
    results = {} if given.no_jit else {"compiling": compile_times(given.threads)}
    for source in given.data:
        results[source.name] = measure(
            source,
            peers,
            rounds=given.rounds,
            seeds=given.seeds,
            n_jobs=given.threads,
            n_online=given.online,
            training_only=given.training_only,
        )
        rows = rows_of({source.name: results[source.name]})
        show_rows(source.name, rows, ["seconds", "cpu_seconds", "peak_mb", "model_mb", *PRECISION])
        show_rows(source.name, rows, ["batch_ms_per_instance", "online_p50_ms", "online_p99_ms"])
    settings = {"n_threads": given.threads, "peers": {peer: version_of(peer) for peer in peers}}
    name = given.record or ("trees-training" if given.training_only else "trees")
    finish(name, rows_of(results), settings=settings, store=not given.no_store)


if __name__ == "__main__":
    main()
