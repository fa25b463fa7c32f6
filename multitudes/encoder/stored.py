"""What must hold of a stored `Prime`: arrays against each other, the index and the network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from multitudes.config import Config
from multitudes.deep.processor import checked_precision
from multitudes.deep.texts.tokens import TokenRows
from multitudes.deep.weights import check_weights
from multitudes.encoder.backbone.loading import longest_readable
from multitudes.encoder.backbone.model import Backbone
from multitudes.encoder.losses.config import LossConfig
from multitudes.encoder.network import KIND, PROTOTYPES
from multitudes.encoder.prototypes.network import PrototypeConfig, PrototypeNetwork
from multitudes.errors import StoreError
from multitudes.store import State, checks
from multitudes.types import FloatArray

TOKENS, TOKEN_OFFSETS, ADDED = "label_token_ids", "label_token_offsets", "added_centroids"
INSTANCES = ("instances.vectors", "instances.of_label", "instances.label_offsets")
CENTROIDS = ("centroids.vectors", "centroids.present", "centroids.counts")
FREE_VECTORS = ("free_vectors.vectors", "free_vectors.clusters")
HAS_TEXT = "has_text"


def check_prime(state: State, defaults: Mapping[str, Any]) -> None:
    """Check a stored model; `defaults` are the parameters of its class.

    What depends on the backbone, which is another library's, `check_with_backbone` looks at.
    """
    kept = INSTANCES if INSTANCES[0] in state.arrays else ()
    checks.names(
        state,
        config=defaults,
        optional=defaults,
        arrays=(TOKENS, TOKEN_OFFSETS, ADDED, *kept),
        parts=("network", "index"),
    )
    _check_settings(state, defaults)
    n_labels, dim = checks.part(state, "index", "prototype-index").arrays["vectors"].shape
    tokens = checks.array(state, TOKENS, ("uint16", "int32"), (None,))
    offsets = checks.array(state, TOKEN_OFFSETS, "int64", (n_labels + 1,))
    checks.starts(offsets, TOKEN_OFFSETS, len(tokens))
    if (offsets[1:] == offsets[:-1]).any():
        raise StoreError("a label has no token at all, not even the special ones")
    added = checks.array(state, ADDED, "float32", (None, dim))
    checks.finite(added, ADDED)
    if len(added) > n_labels:
        raise StoreError(f"{len(added)} labels were added, and there are {n_labels}")
    if kept:
        _check_instances(state, n_labels, dim)
    network = checks.part(state, "network", KIND)
    with checks.as_part("network"):
        check_network(network, n_labels - len(added), dim)


def _check_settings(state: State, defaults: Mapping[str, Any]) -> None:
    for name in state.config:
        default = defaults[name]
        if isinstance(default, Config):
            checks.settings(type(default), state.config[name], name)
        elif isinstance(default, bool):
            checks.flag(state, name)
        elif isinstance(default, int):
            checks.count(state, name)
    checked_precision(state.config.get("precision", "auto"))


def _check_instances(state: State, n_labels: int, dim: int) -> None:
    vectors = checks.array(state, INSTANCES[0], "float16", (None, dim))
    rows = checks.array(state, INSTANCES[1], "int64", (None,))
    offsets = checks.array(state, INSTANCES[2], "int64", (None,))
    checks.finite(vectors, INSTANCES[0])
    checks.within(rows, INSTANCES[1], len(vectors))
    checks.starts(offsets, INSTANCES[2], len(rows))
    if len(offsets) - 1 > n_labels:
        raise StoreError(f"instances have {len(offsets) - 1} labels, and there are {n_labels}")


def check_network(state: State, n_labels: int, dim: int) -> None:
    """Check a stored `PrimeNetwork` of a number of labels and an embedding size."""
    checks.names(state, config=("prototypes", "loss"), arrays=state.arrays, parts=("backbone",))
    checks.settings(LossConfig, state.config["loss"], "loss")
    config = checks.settings(PrototypeConfig, state.config["prototypes"], "prototypes")
    others = [HAS_TEXT] if HAS_TEXT in state.arrays else []
    if others:
        checks.array(state, HAS_TEXT, "bool", (n_labels,))
    if config.uses("centroid"):
        others += CENTROIDS
        vectors = checks.array(state, CENTROIDS[0], "float32", (n_labels, dim))
        checks.finite(vectors, CENTROIDS[0])
        checks.array(state, CENTROIDS[1], "bool", (n_labels,))
        counts = checks.array(state, CENTROIDS[2], "int64", (n_labels,))
        checks.within(counts, CENTROIDS[2], 1 << 53)
    if config.uses("free"):
        others += FREE_VECTORS
        bank = checks.array(state, FREE_VECTORS[0], "float32", (None, dim))
        checks.finite(bank, FREE_VECTORS[0])
        checks.within(
            checks.array(state, FREE_VECTORS[1], "int64", (n_labels,)), FREE_VECTORS[1], len(bank)
        )
    check_weights(state, lambda: PrototypeNetwork(dim, config), prefix=PROTOTYPES, others=others)
    checks.part(state, "backbone", "backbone")


def check_with_backbone(backbone: Backbone, labels: TokenRows, vectors: FloatArray) -> None:
    """Raise a StoreError unless the encoder has the embedding size, and knows all tokens."""
    checks.same(backbone.dim, vectors.shape[1], "the size of an embedding")
    checks.within(labels.ids, TOKENS, backbone.n_tokens)
    longest = longest_readable(backbone.model, backbone.tokenizer)
    if longest is not None and len(labels) and int(np.max(labels.lengths)) > longest:
        raise StoreError(f"a label has more tokens than the {longest} that its encoder reads")
