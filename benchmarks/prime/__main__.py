"""PRIME and its relatives on one data set.

    python -m benchmarks.prime --data ../shared/data/lf-msdocs-links --prepare FOLDER
    python -m benchmarks.prime --data FOLDER --out RESULTS
    python -m benchmarks.prime --data FOLDER --contestants losses sources --validate

The first command makes a compact file of token ids, which the second (on a machine with a GPU, say)
reads; the second takes a data set's own folder as well. Each finished run is stored at once.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from benchmarks.prime.contestants import (
    GROUPS,
    LITE,
    TABLE_2,
    XR_LINEAR_OVER,
    add_common,
    load,
    model_for,
    store,
)
from benchmarks.prime.measure import KS, matrix_rate, train_and_measure
from benchmarks.prime.problem import Problem, prepare, save_encoder
from benchmarks.report import show
from benchmarks.report.records import Records
from benchmarks.report.rows import middle, split_runs
from multitudes import progress

VALIDATION = 5_000
COLUMNS = [*(f"P@{k}" for k in KS), *(f"PSP@{k}" for k in KS), "R@100"]


def main() -> None:
    arguments = parse()
    if arguments.prepare:
        problem = prepare(Path(arguments.data), max_length=arguments.max_length)
        problem.save(Path(arguments.prepare))
        return
    problem = load(arguments)
    rate = matrix_rate()
    tflops = None if rate is None else round(rate / 1e12)
    runs: dict[str, Any] = {}
    with progress.shown(arguments.verbose):
        for name in arguments.contestants:
            for random_state in range(arguments.seeds):
                run = one_run(name, problem, arguments, random_state=random_state, rate=rate)
                runs[f"{name}, seed {random_state}"] = run
                print(f"{name}: {json.dumps({k: v for k, v in run.items() if k != 'curve'})}")
                sys.stdout.flush()
                rows, curves = split_runs(runs)
                store(arguments, problem, rows, raw=curves, matrix_rate_tflops=tflops)
    table(problem, runs)
    print(json.dumps(summary(runs) | trees(problem.name)))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_common(parser)
    parser.add_argument("--prepare", help="write token ids into this folder, and end")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument(
        "--validate",
        action="store_true",
        help="keep part of the training split aside, measure it after each epoch, and leave the "
        "test split alone",
    )
    parser.add_argument("--validate-every", type=int, default=1, help="epochs")
    parser.add_argument(
        "--contestants",
        nargs="+",
        default=list(TABLE_2),
        help=f"presets, or the groups {', '.join(GROUPS)}; settings may follow a preset's "
        "name: 'prime loss.gamma_min=0.2'; '-w' behind it adds the classifier: prime-w",
    )
    parser.add_argument("--save", help="folder for the encoder of each contestant, in float16")
    arguments = parser.parse_args()
    arguments.contestants = [
        name for given in arguments.contestants for name in GROUPS.get(given, [given])
    ]
    return arguments


def one_run(
    name: str,
    problem: Problem,
    arguments: argparse.Namespace,
    *,
    random_state: int,
    rate: float | None,
) -> dict[str, Any]:
    validation = None
    if arguments.validate:
        problem = problem.for_validation(min(VALIDATION, len(problem.train) // 5), random_state=0)
        validation = (problem.test, problem.Y_test)
    model = model_for(
        name, arguments, random_state=random_state, validate_every=arguments.validate_every
    )
    run = train_and_measure(model, problem, validation=validation, matrix_rate=rate)
    if arguments.save and random_state == 0:
        save_encoder(model, Path(arguments.save) / re.sub(r"[^a-z0-9.]+", "-", name))
    return run


def table(problem: Problem, runs: dict[str, Any]) -> None:
    rows = [[name, *(f"{run[c]:.2f}" for c in COLUMNS)] for name, run in runs.items()]
    show(problem.name, ["", *COLUMNS], rows)


def summary(runs: dict[str, Any]) -> dict[str, Any]:
    """The numbers a reader looks for first, from the first seed of each."""
    first = {name.removesuffix(", seed 0"): run for name, run in runs.items() if "seed 0" in name}
    found = {
        f"{name.replace('-', '_')}_p1": first[name]["P@1"] for name in TABLE_2 if name in first
    }
    best = first.get("prime") or first.get(LITE)
    if best:
        speeds = ("steps_per_second", "instances_per_second", "mfu", "peak_gb")
        found |= {"prime_r100": best["R@100"], **{s: best.get(s) for s in speeds}}
    return found


def trees(data: str) -> dict[str, float]:
    """P@1 of XR-Linear, from the stored results of `benchmarks.prime.with_features`."""
    name = f"prime-{data}-features"
    rows = Records()[name].rows if name in Records().names else {}
    return {f"{XR_LINEAR_OVER[n]}_p1": middle(row["measures"]["P@1"]) for n, row in rows.items()}


if __name__ == "__main__":
    main()
