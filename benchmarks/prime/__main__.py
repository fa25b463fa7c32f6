"""PRIME and its relatives on one data set.

    python -m benchmarks.prime --data ../shared/data/lf-msdocs-links --prepare FOLDER
    python -m benchmarks.prime --data FOLDER --out RESULTS

The first command makes a compact file of token ids, which the second (on a machine with a GPU, say)
reads; the second takes a data set's own folder as well. Each finished run is stored at once.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from benchmarks.prime.contestants import LITE, LOSSES, SOURCES, TABLE_2, contestant
from benchmarks.prime.measure import KS, matrix_rate, train_and_measure
from benchmarks.prime.problem import FILE, Problem, prepare
from benchmarks.report import show
from multitudes import progress
from multitudes.encoder.backbone_config import BackboneConfig
from multitudes.training import TrainingConfig

VALIDATION = 5_000
COLUMNS = [*(f"P@{k}" for k in KS), *(f"PSP@{k}" for k in KS), "R@100"]


def main() -> None:
    arguments = parse()
    if arguments.prepare:
        problem = prepare(Path(arguments.data), max_length=arguments.max_length)
        problem.save(Path(arguments.prepare))
        return
    problem = load(arguments)
    out = Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    rate = matrix_rate()
    runs: dict[str, Any] = {}
    with progress.shown(arguments.verbose):
        for name in arguments.contestants:
            for seed in range(arguments.seeds):
                run = one_run(name, problem, arguments, seed=seed, rate=rate)
                runs[f"{name}, seed {seed}"] = run
                print(f"{name}: {json.dumps({k: v for k, v in run.items() if k != 'curve'})}")
                sys.stdout.flush()
                store(out, problem, arguments, runs, rate)
    table(problem, runs)
    print(json.dumps(summary(runs)))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, help="a data set, or a prepared folder")
    parser.add_argument("--prepare", help="write token ids into this folder, and end")
    parser.add_argument("--out", default="tmp/prime", help="folder for results")
    parser.add_argument("--name", help="of the file of results; by default the data's")
    parser.add_argument("--backbone", default="minilm")
    parser.add_argument("--max-length", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=3200)
    parser.add_argument("--learning-rate", type=float, default=3e-4)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, help="only so many instances, for a quick look")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument(
        "--validate",
        action="store_true",
        help="keep part of the training split aside, measure it after each epoch, and leave the "
        "test split alone",
    )
    parser.add_argument("--set", nargs="+", default=[], help="settings, e.g. loss.gamma_min=0.2")
    parser.add_argument("--validate-every", type=int, default=1, help="epochs")
    parser.add_argument(
        "--contestants",
        nargs="+",
        default=list(TABLE_2),
        help="presets, or the groups table, losses and sources; settings may follow a preset's "
        "name: 'prime loss.gamma_min=0.2'",
    )
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    groups = {"table": TABLE_2, "losses": LOSSES, "sources": SOURCES}
    arguments.contestants = [
        name for given in arguments.contestants for name in groups.get(given, [given])
    ]
    return arguments


def load(arguments: argparse.Namespace) -> Problem:
    folder = Path(arguments.data)
    if (folder / FILE).exists():
        problem = Problem.load(folder)
    else:
        problem = prepare(folder, max_length=arguments.max_length)
    return problem.first(arguments.first) if arguments.first else problem


def one_run(
    name: str, problem: Problem, arguments: argparse.Namespace, *, seed: int, rate: float | None
) -> dict[str, Any]:
    validation = None
    if arguments.validate:
        problem = problem.for_validation(min(VALIDATION, len(problem.train) // 5), seed=0)
        validation = (problem.test, problem.Y_test)
    training = TrainingConfig(
        epochs=arguments.epochs,
        learning_rate=arguments.learning_rate,
        evaluate_every=arguments.validate_every,
        restore_best=False,
    )
    backbone = BackboneConfig(
        name=arguments.backbone, max_length=arguments.max_length, compile=arguments.compile
    )
    changes: list[str] = []
    if "=" in name:
        name, *changes = name.split()
    model = contestant(
        name,
        backbone=backbone,
        training=training,
        batch_size=arguments.batch_size,
        changes=[*arguments.set, *changes],
        seed=seed,
    )
    return train_and_measure(model, problem, validation=validation, matrix_rate=rate)


def store(
    out: Path, problem: Problem, arguments: argparse.Namespace, runs: Any, rate: float | None
) -> None:
    import torch

    card = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    record = {
        "benchmark": "prime",
        "data": problem.name,
        "settings": {k: v for k, v in vars(arguments).items() if k not in ("out", "data")},
        "card": card,
        "matrix_rate_tflops": None if rate is None else round(rate / 1e12),
        "runs": runs,
        "machine": describe(),
    }
    path = out / f"{arguments.name or problem.name}.json"
    path.write_text(json.dumps(record, indent=1) + "\n")


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


if __name__ == "__main__":
    main()
