"""Studies of PRIME: the order of Table 2, margins, sources, positives, centroids, free vectors.

Data sets are folders that ``python -m benchmarks.prime --prepare`` wrote, or as they are. The test
split is looked at once by each run; nothing is chosen on it. Trainings share a card, so that their
seconds mean nothing but in the study of costs, which is to be run with one worker.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.evidence.study import Study, Values

PAPER, CLASSIFIER = ":paper", "classifier"
UNIFORM = {"sampler__positive_weights": "uniform"}
BY_PROPENSITY = {"sampler__positive_weights": "inverse-propensity"}
TERMS = {"loss__query_to_label": False, "loss__label_to_query": False}
NO_REGULARIZER = {"loss__regularizer_weight": 0.0}


def run(source: Path, settings: Mapping[str, Any], seed: int) -> Values:
    """Train one row and measure it on the test split, filter pairs removed."""
    from benchmarks.prime.measure import train_and_measure

    problem = problem_of(source, settings["max_length"])
    model = model_of(settings, seed)
    found = train_and_measure(model, problem, matrix_rate=None)
    kept = ("P@", "PSP@", "R@", "instances_per_second", "peak_gb")
    values = {name: value for name, value in found.items() if name.startswith(kept)}
    values["fit seconds"] = found["seconds"]
    if model.prototypes.uses("centroid"):
        centroids = model.network_.centroids
        lengths = centroids.vectors[centroids.present].norm(dim=1)
        values["centroid length"] = float(lengths.mean())
    return values


@lru_cache(maxsize=1)
def problem_of(source: Path, max_length: int) -> Any:
    """The data, read once by a process."""
    from benchmarks.prime.problem import FILE, Problem, prepare

    if (source / FILE).exists():
        return Problem.load(source)
    return prepare(source, max_length=max_length)


def model_of(settings: Mapping[str, Any], seed: int) -> Any:
    """An unfitted model: a preset as shipped, or as printed, and what the row changes."""
    from multitudes.deep.training import TrainingConfig
    from multitudes.encoder.backbone.model import BackboneConfig
    from multitudes.models.encoder import MODELS, PAPERS

    presets = {spec.name: spec for spec in (*MODELS, *PAPERS)}
    name = settings["preset"]
    model = presets[name].make_model()
    model.set_params(
        backbone=BackboneConfig(
            name=settings["backbone"],
            max_length=32 if name.endswith(PAPER) else settings["max_length"],
            label_max_length=32,
        ),
        training=TrainingConfig(
            epochs=settings["epochs"],
            learning_rate=settings["learning_rate"],
            restore_best=False,
        ),
        random_state=seed,
        **settings.get("changes", {}),
    )
    return model


SHIPPED: dict[str, dict[str, Any]] = {
    "prime": {
        "loss__margin": "dynamic",
        "loss__detach_weights": True,
        "prototypes__sources": ("text", "centroid", "free"),
        "prototypes__source_dropout": 0.5,
        "prototypes__centroids": "momentum",
        "sampler__positive_weights": "uniform",
    },
    "ngame": {"sampler__positive_weights": "inverse-propensity"},
}
"""Settings that a preset has already: a row that names them is the preset, and is not run again."""


def row(preset: str, **changes: Any) -> dict[str, Any]:
    """A preset with some settings changed; `changes` are parameters of `Prime`."""
    own = SHIPPED.get(preset, {})
    changed = {k: v for k, v in changes.items() if k not in own or own[k] != v}
    return {"preset": preset, "changes": changed} if changed else {"preset": preset}


COMMON = {"backbone": "minilm", "learning_rate": 3e-4}
LINKS = {"lf-msdocs-links": {"max_length": 32, "epochs": 10}}
DEBIAN = {"debian-deps": {"max_length": 64, "epochs": 12}}
DATA = {
    **DEBIAN,
    **LINKS,
    "lf-msdocs-seealso": {"max_length": 64, "epochs": 5},
    "llms4subjects-gnd": {"max_length": 64, "epochs": 6},
}

ORDER = Study(
    "prime-order",
    "In which order are PRIME and the encoders of Table 2, as shipped and as printed?",
    {
        "prime": row("prime"),
        "dexa": row("dexa"),
        "ngame": row("ngame"),
        "dpr": row("dpr"),
        "siamese": row("siamese"),
        "prime-lite": row("prime-lite"),
        "prime++": row("prime++"),
        "prime:paper": row("prime:paper"),
        "prime-lite:paper": row("prime-lite:paper"),
        "prime++:paper": row("prime++:paper"),
        "dexa, uniform positives": row("dexa", **UNIFORM),
        "ngame, uniform positives": row("ngame", **UNIFORM),
    },
    run,
    DATA,
    COMMON,
)

CLASSIFIERS = Study(
    "prime-classifier",
    "What does a vector per label on top of the frozen encoder, PRIME (W), add?",
    {"prime": row("prime"), "prime (W)": row("prime", classifier=True)},
    run,
    {**DEBIAN, **LINKS},
    COMMON,
)

DETACHED, THROUGH = {"loss__detach_weights": True}, {"loss__detach_weights": False}
MARGINS = Study(
    "prime-margins",
    "What is the dynamic margin worth, apart from the gradient through the weights of negatives?",
    {
        f"{margin}, {name}": row("prime", **settings, **weights)
        for margin, settings in {
            "dynamic": {},
            "fixed 0.1": {"loss__margin": "fixed", "loss__fixed_margin": 0.1},
            "fixed 0.3": {"loss__margin": "fixed", "loss__fixed_margin": 0.3},
        }.items()
        for name, weights in {"detached": DETACHED, "gradient": THROUGH}.items()
    },
    run,
    {**DEBIAN, **LINKS},
    COMMON,
)

SOURCES = Study(
    "prime-sources",
    "What do text, centroid and free vector add to a prototype, with and without source dropout?",
    {
        f"{name}, dropout {dropout:g}": row(
            "prime", prototypes__sources=sources, prototypes__source_dropout=dropout
        )
        for dropout in (0.0, 0.5)
        for name, sources in {
            "all": ("text", "centroid", "free"),
            "without free vectors": ("text", "centroid"),
            "without centroids": ("text", "free"),
            "text alone": ("text",),
        }.items()
    },
    run,
    {**DEBIAN, **LINKS},
    COMMON,
)

POSITIVES = Study(
    "prime-positives",
    "What do positives drawn by inverse propensity gain and lose (Table 11)?",
    {
        f"{preset}, {name}": row(preset, **weights)
        for preset in ("prime", "ngame")
        for name, weights in {"uniform": UNIFORM, "inverse propensity": BY_PROPENSITY}.items()
    },
    run,
    {**DEBIAN, **LINKS},
    COMMON,
)

CENTROIDS = Study(
    "prime-centroids",
    "Should centroids follow batches by momentum, at unit length, or be computed exactly?",
    {
        name: row("prime", prototypes__centroids=name)
        for name in ("momentum", "normalized", "exact")
    },
    run,
    {**DEBIAN, **LINKS},
    COMMON,
)

FREE_VECTORS = Study(
    "prime-free-vectors",
    "How many labels should share a free vector (Table 9)?",
    {
        f"{labels} labels each": row("prime", prototypes__n_free_vectors=n)
        for labels, n in (("about 40", 1 << 10), ("about 10", 1 << 12), ("about 2", 1 << 14))
    }
    | {"a vector for each label": row("prime", prototypes__n_free_vectors=1 << 16)},
    run,
    DEBIAN,
    COMMON,
)

LOSS_TERMS = Study(
    "prime-loss-terms",
    "What does each term of the loss add (Table 6)?",
    {
        "prototypes alone": row("prime", **TERMS, **NO_REGULARIZER),
        "+ instance to label text": row("prime", loss__label_to_query=False, **NO_REGULARIZER),
        "+ label text to instance": row("prime", **NO_REGULARIZER),
        "+ regularizer: prime": row("prime"),
    },
    run,
    {**DEBIAN, **LINKS},
    COMMON,
)

COSTS = Study(
    "prime-costs",
    "What do an epoch and a card's memory cost PRIME and the others (Table 5)?",
    {
        **{name: row(name) for name in ("dpr", "ngame", "dexa", "prime-lite", "prime", "prime++")},
        "encoder and a vector for each label": row(
            "dexa", prototypes__sources=("free",), prototypes__n_free_vectors=1 << 18
        ),
        "prime (W)": row("prime", classifier=True),
    },
    run,
    {"lf-msdocs-links": {"max_length": 32, "epochs": 2}},
    COMMON,
    seeds=1,
)

ALL = (
    ORDER, CLASSIFIERS, MARGINS, SOURCES, POSITIVES, CENTROIDS, FREE_VECTORS, LOSS_TERMS, COSTS,
)  # fmt: skip
