"""Settings of label prototypes: their sources, and how these become one vector."""

from __future__ import annotations

from dataclasses import dataclass

from multitudes.config import Config, setting
from multitudes.errors import ConfigError, suggestion

SOURCES = ("text", "centroid", "free")
"""What a prototype is made of, in the order of its tokens and of a presence mask's columns."""


@dataclass(frozen=True)
class PrototypeConfig(Config):
    """What a label's prototype is made of; the defaults are the paper's, but `source_dropout`.

    Settings of the encoders that PRIME is compared with: ``sources=("text",), combine="sum"`` is a
    plain text encoder (DPR, NGAME), ``sources=("text", "free"), combine="sum"`` is DEXA.
    """

    sources: tuple[str, ...] = setting(
        SOURCES, "Parts of a prototype: text, centroid of its instances, free vector."
    )
    combine: str = setting(
        "transformer",
        "How the sources become one vector: one transformer layer over them, or their sum.",
        choices=("transformer", "sum"),
    )
    n_heads: int = setting(1, "Attention heads of the layer; they divide its width.", at_least=1)
    feed_forward: int = setting(1024, "Inner width of the layer's feed-forward part.", at_least=1)
    dropout: float = setting(0.1, "Dropout inside the layer.", at_least=0, at_most=0.9)
    source_dropout: float = setting(
        0.5,
        "Part of the labels that a training step treats as unseen: without free vector, and half "
        "of them without centroid. Keeps text alone a supported input, and a prototype from being "
        "its only instance; 0 is the paper.",
        at_least=0,
        at_most=1,
    )
    centroids: str = setting(
        "momentum",
        "Centroids follow each batch by momentum, or are computed anew from all instances "
        "after each epoch.",
        choices=("momentum", "exact"),
    )
    centroid_leak: str = setting(
        "keep",
        "Centroids whose instances are all in the batch tell the answer: keep them in the step, "
        "or drop them, which takes the only instance of a label out of its prototype in training.",
        choices=("keep", "drop"),
    )
    momentum: float = setting(
        0.95, "Part of a centroid that a batch leaves as it was.", at_least=0, at_most=1
    )
    n_free_vectors: int | None = setting(
        None,
        "Free vectors, a power of two; None: about half as many as labels, at most 131,072.",
        at_least=1,
    )
    free_start: str = setting(
        "random",
        "Free vectors start small and random (the paper), or as the mean text embedding of the "
        "labels that share them.",
        choices=("random", "text"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for source in self.sources:
            if source not in SOURCES:
                raise ConfigError(
                    f"PrototypeConfig.sources has no {source!r}: {suggestion(str(source), SOURCES)}"
                )
        if not self.sources or len(set(self.sources)) != len(self.sources):
            raise ConfigError(
                f"PrototypeConfig.sources must name one or more of {list(SOURCES)} once each, "
                f"got {self.sources!r}"
            )
        n = self.n_free_vectors
        if n is not None and n & (n - 1):
            raise ConfigError(
                f"PrototypeConfig.n_free_vectors must be a power of two, got {n}: the labels are "
                f"halved again and again; try {1 << (n.bit_length() - 1)} or {1 << n.bit_length()}"
            )

    def uses(self, source: str) -> bool:
        """Whether prototypes have this source; without centroids none need be kept up to date."""
        return source in self.sources
