"""What is compared, presets with one batch size and PRIME with parts taken away; arguments."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import card_name
from benchmarks.prime.problem import FILE, Problem, prepare
from benchmarks.report.rows import Rows
from benchmarks.report.storing import checksum, record_of, written
from multitudes.deep.training import TrainingConfig
from multitudes.encoder.backbone.model import BackboneConfig
from multitudes.encoder.losses.config import LossConfig
from multitudes.encoder.presets import prime_preset
from multitudes.encoder.prime import Prime
from multitudes.encoder.prototypes.network import PrototypeConfig

TABLE_2 = ("dpr", "ngame", "dexa", "prime-lite", "prime")
LITE = "prime-lite"

# Table 6: the loss without some of its terms.
LOSSES = {
    "without text terms, dynamic margin, regularizer": LossConfig(
        margin="fixed", query_to_label=False, label_to_query=False, regularizer_weight=0.0
    ),
    "without dynamic margin, label-to-query, regularizer": LossConfig(
        margin="fixed", label_to_query=False, regularizer_weight=0.0
    ),
    "without label-to-query, regularizer": LossConfig(label_to_query=False, regularizer_weight=0.0),
    "without regularizer": LossConfig(regularizer_weight=0.0),
    "fixed margin": LossConfig(margin="fixed"),
}

# Figure 3: prototypes without some of their sources.
SOURCES = {
    "without free vectors": PrototypeConfig(sources=("text", "centroid")),
    "without centroids": PrototypeConfig(sources=("text", "free")),
    "text alone": PrototypeConfig(sources=("text",)),
}

GROUPS: dict[str, list[str]] = {
    "table": list(TABLE_2),
    "losses": [*LOSSES, LITE],
    "sources": [*SOURCES, LITE],
    "classifier": ["prime", "prime-w"],
}
WITH_CLASSIFIER = "-w"

# What `benchmarks.prime.with_features` trains XR-Linear on, and what it is called in a summary.
XR_LINEAR_OVER = {
    "TF-IDF": "xrlinear",
    "embeddings": "xrlinear_embeddings",
    "both": "xrlinear_with_embeddings",
}


def contestant(
    name: str,
    *,
    backbone: BackboneConfig,
    training: TrainingConfig,
    batch_size: int,
    changes: Sequence[str] = (),
    random_state: int = 0,
) -> Prime:
    """An unfitted model of Table 2, one with a classifier, or PRIME-lite without some part.

    `changes` are further settings, e.g. ``"loss.gamma_min=0.2"`` or ``"classifier=true"``.
    """
    settings: dict[str, Any] = {}
    if name in LOSSES:
        settings = {"loss": LOSSES[name]}
    elif name in SOURCES:
        settings = {"prototypes": SOURCES[name]}
    preset = prime_preset(LITE if settings else name.removesuffix(WITH_CLASSIFIER))
    preset.set_params(
        **settings,
        sampler__batch_size=batch_size,
        backbone=backbone,
        training=training,
        classifier=name.endswith(WITH_CLASSIFIER),
        random_state=random_state,
    )
    for change in changes:
        name, _, value = change.partition("=")
        preset.set_params(**{name.replace(".", "__"): json_value(value)})
    return preset


def json_value(text: str) -> Any:
    """A value as JSON spells it, a list as a tuple; anything else is a text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return tuple(value) if isinstance(value, list) else value


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
    parser.add_argument(
        "--first", type=int, metavar="N", help="use only the first N instances, for a quick look"
    )
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
            name=arguments.backbone,
            max_length=arguments.max_length,
            label_max_length=32,
            compile=arguments.compile,
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
    arguments: argparse.Namespace, problem: Problem, rows: Rows, *, raw: Any = None, **settings: Any
) -> Path:
    """Write the record of what was found so far; returns its path."""
    own = {k: v for k, v in vars(arguments).items() if k not in NOT_SETTINGS}
    name = arguments.name or f"prime-{problem.name}"
    data = {problem.name: checksum(Path(arguments.data))}
    record = record_of(name, rows, data=data, settings=own | settings, raw=raw, card=card_name())
    return written(record, Path(arguments.out) / f"{name}.json")
