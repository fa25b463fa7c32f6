"""What is compared: presets with one batch size, and PRIME with parts taken away."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

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
