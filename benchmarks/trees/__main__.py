"""How fast are tree models? ``python -m benchmarks.trees --data DIR``.

XRLinear against libpecos with the same settings (branching 16, leaves of at most 100, squared
hinge, cost 1, weights up to 0.1 dropped, beam 10), each with its own tolerance (epsilon is 0.3 in
ours, 0.1 in libpecos), and a binary tree against one tree of omikuji and of napkinXC. Every run has
a fresh process that loads the same NPZ files and trains a small problem for warming up; contestants
take turns, and ratios are medians over rounds.

- Training includes label embeddings and tree building, not loading. Trees need not have the same
  levels: ``clusters`` says how many each level of ours and of libpecos' has.
- Peak memory is that of the whole process up to the end of training: interpreter, libraries,
  compiled code and data included. ``training_rss_ratio_pecos`` leaves out what was there
  when training began.
- A batch is all test instances; single instances are predicted one by one from Python on one
  thread, and their median counts.
- Compiling is apart: ``jit_first_s`` is the first fit and prediction of a small problem with an
  empty cache of compiled code, ``jit_again_s`` the same in the next process.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers import REQUIREMENTS, version_of
from benchmarks.report import finish, show
from benchmarks.timing import cpu_ratio, ratio
from benchmarks.trees.arena import (
    KS,
    PARABEL,
    XR_LINEAR,
    Answers,
    Arena,
    mean_precisions,
    timing_of,
)
from benchmarks.trees.data import export, write_matrices
from benchmarks.trees.long_tailed import long_tailed
from benchmarks.trees.trials import OURS, trial

BINARY_PEERS = ("omikuji", "napkinxc")


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
    """Everything about one data set; the keys that others look for come first."""
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
        **against_pecos(trained, predicted, seeds),
        **against_binary(binary, seeds),
        "sizes": size,
        "weights": cost_of_types(by_type, seeds),
        "xr_linear": {who: trained_summary(answers, seeds) for who, answers in trained.items()},
        "prediction": {who: predicted_summary(answers) for who, answers in predicted.items()},
        "binary_tree": {who: trained_summary(answers, seeds) for who, answers in binary.items()},
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


def against_pecos(trained: Answers, predicted: Answers, seeds: int) -> dict[str, float]:
    """Ratios and differences to libpecos; empty without it."""
    if "pecos" not in trained:
        return {}
    ours, pecos = trained[OURS], trained["pecos"]
    mine, theirs = mean_precisions(ours, seeds), mean_precisions(pecos, seeds)
    return {
        "train_speedup_pecos": ratio(timing_of(pecos), timing_of(ours)),
        "train_cpu_speedup_pecos": cpu_ratio(timing_of(pecos), timing_of(ours)),
        **(prediction_against_pecos(predicted) if predicted else {}),
        "peak_rss_ratio_pecos": median(ours, "peak_mb") / median(pecos, "peak_mb"),
        "training_rss_ratio_pecos": training_mb(ours) / training_mb(pecos),
        "model_size_ratio_pecos": median(ours, "model_bytes") / median(pecos, "model_bytes"),
        **{f"p{k}_diff": a - b for k, a, b in zip(KS, mine, theirs, strict=True)},
    }


def prediction_against_pecos(predicted: Answers) -> dict[str, float]:
    """Ratios of prediction times."""
    batch = {w: timing_of(a, "batch_s", "batch_cpu_s") for w, a in predicted.items()}
    online = {w: timing_of(a, "online_p50_s", "online_p50_s") for w, a in predicted.items()}
    return {
        "batch_speedup_pecos": ratio(batch["pecos"], batch[OURS]),
        "batch_cpu_speedup_pecos": cpu_ratio(batch["pecos"], batch[OURS]),
        "online_speedup_pecos": ratio(online["pecos"], online[OURS]),
    }


def against_binary(trained: Answers, seeds: int) -> dict[str, float]:
    """Training of a binary tree against each peer, and the differences in precision."""
    found: dict[str, float] = {}
    for peer in (who for who in trained if who != OURS):
        ours, theirs = trained[OURS], trained[peer]
        found[f"train_speedup_{peer}"] = ratio(timing_of(theirs), timing_of(ours))
        found[f"train_cpu_speedup_{peer}"] = cpu_ratio(timing_of(theirs), timing_of(ours))
        pairs = zip(KS, mean_precisions(ours, seeds), mean_precisions(theirs, seeds), strict=True)
        found |= {f"p{k}_diff_{peer}": a - b for k, a, b in pairs}
    return found


def cost_of_types(by_type: Answers, seeds: int) -> dict[str, Any]:
    """Size and precision of our model by how it keeps weights; differences are to float32."""
    if not by_type:
        return {}
    exact = mean_precisions(by_type["float32"], seeds)
    found = {}
    for weights, answers in by_type.items():
        p = mean_precisions(answers, seeds)
        found[weights] = {
            "model_mb": median(answers, "model_bytes") / 2**20,
            "p": p,
            "p_diff": [a - b for a, b in zip(p, exact, strict=True)],
        }
    return found


def trained_summary(answers: Sequence[dict[str, Any]], seeds: int) -> dict[str, Any]:
    """Medians of one contestant's training, and its rounds."""
    return {
        "seconds": median(answers, "seconds"),
        "cpu_seconds": median(answers, "cpu_seconds"),
        "peak_mb": median(answers, "peak_mb"),
        "training_mb": training_mb(answers),
        "model_mb": median(answers, "model_bytes") / 2**20,
        "p": mean_precisions(answers, seeds),
        "clusters": answers[0].get("clusters"),
        "rounds": [answer["seconds"] for answer in answers],
    }


def predicted_summary(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Medians of one contestant's prediction, and its rounds."""
    n = answers[0]["n_batch"]
    return {
        "batch_ms_per_instance": 1e3 * median(answers, "batch_s") / n,
        "online_p50_ms": 1e3 * median(answers, "online_p50_s"),
        "online_p99_ms": 1e3 * median(answers, "online_p99_s"),
        "n_online": answers[0]["n_online"],
        "rounds_batch_s": [answer["batch_s"] for answer in answers],
        "rounds_online_p50_ms": [1e3 * answer["online_p50_s"] for answer in answers],
    }


def median(answers: Sequence[dict[str, Any]], key: str) -> float:
    """The middle of the rounds."""
    return float(statistics.median(answer[key] for answer in answers))


def training_mb(answers: Sequence[dict[str, Any]]) -> float:
    """How far training raised the peak above what the process held when it began."""
    return float(statistics.median(one["peak_mb"] - one["start_mb"] for one in answers))


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


def show_result(name: str, result: dict[str, Any]) -> None:
    """The tables of one data set."""
    trained = [
        (f"{kind}, {who}", f"{one['seconds']:.2f}", f"{one['cpu_seconds']:.2f}",
         f"{one['peak_mb']:,.0f}", f"{one['model_mb']:.1f}", *(f"{p:.2f}" for p in one["p"]))
        for kind in ("xr_linear", "binary_tree") for who, one in result[kind].items()
    ]  # fmt: skip
    precision = tuple(f"P@{k}" for k in KS)
    columns = ("training", "s", "CPU s", "peak, MB", "model, MB", *precision)
    show(name, columns, trained)
    columns = ("prediction", "batch, ms per instance", "single, ms p50", "single, ms p99")
    keys = ("batch_ms_per_instance", "online_p50_ms", "online_p99_ms")
    predicted = result["prediction"].items()
    show(name, columns, [(who, *(f"{one[key]:.4f}" for key in keys)) for who, one in predicted])
    weights = [
        (kind, f"{one['model_mb']:.1f}", *(f"{p:.2f}" for p in one["p"]),
         *(f"{d:+.3f}" for d in one["p_diff"]))
        for kind, one in result["weights"].items()
    ]  # fmt: skip
    columns = ("our weights", "model, MB", *precision, *(f"{p} - float32's" for p in precision))
    show(name, columns, weights)
    numbers = [(key, f"{v:.3f}") for key, v in result.items() if isinstance(v, float)]
    if numbers:
        show(f"{name}: ours against others", ("", ""), numbers)


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
    parser.add_argument("--no-store", action="store_true", help="only print")
    given = parser.parse_args()
    peers = [peer for peer in given.peers.split(",") if peer]
    unknown = [peer for peer in peers if peer not in REQUIREMENTS]
    if unknown:
        parser.error(f"no peer {unknown[0]!r}; known: {', '.join(REQUIREMENTS)}")
    results: dict[str, Any] = {
        "n_threads": given.threads,
        "peers": {peer: version_of(peer) for peer in peers},
        **({} if given.no_jit else compile_times(given.threads)),
        "sets": {},
    }
    for source in given.data:
        result = measure(
            source,
            peers,
            rounds=given.rounds,
            seeds=given.seeds,
            n_jobs=given.threads,
            n_online=given.online,
            training_only=given.training_only,
        )
        results["sets"][source.name] = result
        show_result(source.name, result)
    compiling = [(key, f"{value:.2f}") for key, value in results.items() if key.startswith("jit_")]
    if compiling:
        show("Compiling, s", ("", ""), compiling)
    finish("trees-training" if given.training_only else "trees", results, store=not given.no_store)


if __name__ == "__main__":
    main()
