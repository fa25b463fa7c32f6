"""Arguments that all commands of this benchmark share, and what they stand for."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from benchmarks.prime.contestants import contestant
from benchmarks.prime.problem import FILE, Problem, prepare
from multitudes.deep.training import TrainingConfig
from multitudes.encoder.backbone.model import BackboneConfig
from multitudes.encoder.prime import Prime

NOT_SETTINGS = ("out", "data", "save")


def add_common(parser: argparse.ArgumentParser) -> None:
    """Data, backbone and training."""
    parser.add_argument("--data", required=True, help="a data set, or a prepared folder")
    parser.add_argument("--out", default="tmp/prime", help="folder for results")
    parser.add_argument("--name", help="of the file of results; by default the data's")
    parser.add_argument("--backbone", default="minilm")
    parser.add_argument("--max-length", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=3200)
    parser.add_argument("--learning-rate", type=float, default=3e-4)
    parser.add_argument("--first", type=int, help="only so many instances, for a quick look")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--set", nargs="+", default=[], help="settings, e.g. loss.gamma_min=0.2")
    parser.add_argument("--verbose", action="store_true")


def load(arguments: argparse.Namespace) -> Problem:
    """The data that the arguments name."""
    folder = Path(arguments.data)
    if (folder / FILE).exists():
        problem = Problem.load(folder)
    else:
        problem = prepare(folder, max_length=arguments.max_length)
    return problem.first(arguments.first) if arguments.first else problem


def model_for(
    name: str, arguments: argparse.Namespace, *, random_state: int, validate_every: int = 1
) -> Prime:
    """An unfitted contestant; settings may follow its name: 'prime loss.gamma_min=0.2'."""
    changes: list[str] = []
    if "=" in name:
        name, *changes = name.split()
    return contestant(
        name,
        backbone=BackboneConfig(
            name=arguments.backbone, max_length=arguments.max_length, compile=arguments.compile
        ),
        training=TrainingConfig(
            epochs=arguments.epochs,
            learning_rate=arguments.learning_rate,
            evaluate_every=validate_every,
            restore_best=False,
        ),
        batch_size=arguments.batch_size,
        changes=[*arguments.set, *changes],
        random_state=random_state,
    )


def store(
    benchmark: str, arguments: argparse.Namespace, problem: Problem, results: dict[str, Any]
) -> Path:
    """Write the record of what was found so far; returns its path."""
    import torch

    out = Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    record = {
        "benchmark": benchmark,
        "data": problem.name,
        "settings": {k: v for k, v in vars(arguments).items() if k not in NOT_SETTINGS},
        "card": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        **results,
        "machine": describe(),
    }
    path = out / f"{arguments.name or problem.name}.json"
    path.write_text(json.dumps(record, indent=1) + "\n")
    return path
