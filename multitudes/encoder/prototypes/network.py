"""The label prototype network: text embedding, centroid and free vector become one vector."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from multitudes.config import Config, setting
from multitudes.errors import ConfigError, suggestion

SOURCES = ("text", "centroid", "free")
"""What a prototype is made of, in the order of its tokens and of a presence mask's columns."""

FAR = -1e4
"""The score of a source that is absent; finite, so that no gradient becomes NaN."""


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
        "Centroids follow each batch by momentum (the paper), the same at unit length, or are "
        "recomputed from all instances after each epoch.",
        choices=("momentum", "normalized", "exact"),
    )
    centroid_leak: str = setting(
        "keep",
        "Centroids whose instances are all in the batch give the answer away: keep them, "
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

    free_updates: str = setting(
        "auto",
        "Which free vectors a step of Adam moves: all, by their momentum, or those of the batch's "
        "labels, which costs the same however many there are. auto: all, but those touched where "
        "they are in the host's memory.",
        choices=("auto", "all", "touched"),
    )
    label_memory: str = setting(
        "device",
        "Where centroids, free vectors and their moments are kept: on the device, or in the host's "
        "memory, from where each batch brings its own; for more labels than fit on a GPU.",
        choices=("device", "host"),
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

        if self.on_host and self.free_updates == "all":
            raise ConfigError(
                'PrototypeConfig.free_updates="all" moves every free vector at each step, which '
                'label_memory="host" cannot: use free_updates="touched", or label_memory="device"'
            )

    def uses(self, source: str) -> bool:
        """Whether prototypes have this source."""
        return source in self.sources

    @property
    def unit_centroids(self) -> bool:
        """Whether centroids that follow batches are kept at length 1."""
        return self.centroids == "normalized"

    @property
    def on_host(self) -> bool:
        """Whether what belongs to labels is kept in the host's memory."""
        return self.label_memory == "host"

    @property
    def sparse_updates(self) -> bool:
        """Whether a step moves the free vectors of its labels alone."""
        return self.on_host or self.free_updates == "touched"


class PrototypeNetwork(nn.Module):
    """Makes label prototypes z = g(text, centroid, free vector), of unit length.

    The sources of a label are the tokens of one post-norm transformer encoder layer without
    positions; the prototype is the normalized mean of its outputs. A source that a label lacks
    takes no part in attention or mean.

    Parameters
    ----------
    dim : int
        Length of the vectors, d.
    config : PrototypeConfig
        Which sources there are and how they are combined.

    References
    ----------
    PRIME, section 3.2 and appendix G; the sum of text and free vector: Dahiya et al., DEXA, KDD
    2023.
    """

    def __init__(self, dim: int, config: PrototypeConfig = PrototypeConfig()) -> None:
        super().__init__()
        self.dim, self.config = dim, config
        self.columns = [i for i, source in enumerate(SOURCES) if self.config.uses(source)]
        is_sum = self.config.combine == "sum"
        self.layer = None if is_sum else TokenMixer(dim, self.config)

    def forward(
        self,
        text: Tensor | None,
        centroid: Tensor | None = None,
        free: Tensor | None = None,
        present: Tensor | None = None,
    ) -> Tensor:
        """Prototypes of m labels.

        Parameters
        ----------
        text, centroid, free : float tensors (m, d)
            The sources; one that the configuration leaves out may be None and is not read.
        present : bool tensor (m, 3), optional
            Which label has which source, in the order of `SOURCES`; all by default. The values
            of an absent source do not matter.

        Returns
        -------
        float32 tensor (m, d)
            Rows of unit length; a zero row for a label without any source.
        """
        given = self._given((text, centroid, free))
        if self.layer is None and self.config.sources == ("text",) and present is None:
            return given[0]  # a plain text encoder: nothing to combine
        tokens = torch.stack(given, dim=1)  # (m, t, d)
        if present is None:
            present = torch.ones(len(tokens), len(SOURCES), dtype=torch.bool, device=tokens.device)
        if self.training and self.config.source_dropout > 0 and self.config.uses("text"):
            present = drop_sources(present, self.config.source_dropout)  # (m, 3)
        # Column by column: a list as index would be copied to the device, which waits for it.
        mask = torch.stack([present[:, i] for i in self.columns], dim=1).unsqueeze(2)  # (m, t, 1)
        tokens = torch.where(mask, tokens, 0.0)  # (m, t, d)
        if self.layer is not None:
            tokens = torch.where(mask, self.layer(tokens, mask), 0.0)  # (m, t, d)
        # The sum points where the mean does, however many tokens there are.
        return functional.normalize(tokens.float().sum(dim=1), dim=1)  # (m, d)

    def _given(self, sources: tuple[Tensor | None, ...]) -> list[Tensor]:
        """The sources in use; one that is missing is an error."""
        given = [sources[column] for column in self.columns]
        for column, source in zip(self.columns, given, strict=True):
            if source is None:
                raise ConfigError(
                    f"prototypes are made of {list(self.config.sources)} but no "
                    f"{SOURCES[column]!r} vectors were given: pass them, with `present` False for "
                    "labels that have none"
                )
        return [source for source in given if source is not None]


def drop_sources(present: Tensor, rate: float) -> Tensor:
    """Drop sources of some labels, as if they had not been seen in training.

    A label is drawn with probability `rate`. It loses its free vector, and half of those drawn lose
    their centroid too: text alone (a new label) and text with a centroid (a new label with a few
    examples) are both met in training. A label without text loses nothing.

    Parameters
    ----------
    present : bool tensor (m, 3)
        Which label has which source.
    rate : float
        From 0 to 1.

    Returns
    -------
    bool tensor (m, 3)
    """
    chance = torch.rand(len(present), 1, device=present.device)  # (m, 1)
    dropped = torch.cat([chance < 0, chance < rate / 2, chance < rate], dim=1)  # (m, 3)
    return present & ~(dropped & present[:, :1])


class TokenMixer(nn.Module):
    """One post-norm transformer encoder layer over a handful of tokens, written out.

    The same function as ``nn.TransformerEncoderLayer`` with GELU (a test holds it to that), with
    the same initial distribution of weights. With three tokens the attention is nine products a
    label and head; the time goes into the linear maps.
    """

    def __init__(self, dim: int, config: PrototypeConfig) -> None:
        super().__init__()
        if dim % config.n_heads:
            raise ConfigError(
                f"PrototypeConfig.n_heads must divide the embedding size {dim}, "
                f"got {config.n_heads}: 1 always does"
            )
        self.n_heads, self.dropout = config.n_heads, config.dropout
        self.query_key_value = nn.Linear(dim, 3 * dim)
        self.attention_output = nn.Linear(dim, dim)
        self.attention_norm = nn.LayerNorm(dim)
        self.feed_forward_in = nn.Linear(dim, config.feed_forward)
        self.feed_forward_out = nn.Linear(config.feed_forward, dim)
        self.feed_forward_norm = nn.LayerNorm(dim)
        nn.init.xavier_uniform_(self.query_key_value.weight)
        nn.init.zeros_(self.query_key_value.bias)
        nn.init.zeros_(self.attention_output.bias)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Tokens (m, t, d) to (m, t, d); those with `mask` (m, t, 1) False are ignored."""
        mixed = self._drop(self._attend(tokens, mask))  # (m, t, d)
        tokens = self.attention_norm(tokens + mixed)  # (m, t, d)
        hidden = self._drop(functional.gelu(self.feed_forward_in(tokens)))  # (m, t, feed_forward)
        hidden = self._drop(self.feed_forward_out(hidden))  # (m, t, d)
        out: Tensor = self.feed_forward_norm(tokens + hidden)  # (m, t, d)
        return out

    def _attend(self, tokens: Tensor, mask: Tensor) -> Tensor:
        m, t, d = tokens.shape
        heads = self.query_key_value(tokens).view(m, t, 3, self.n_heads, d // self.n_heads)
        query, key, value = heads.permute(2, 0, 3, 1, 4)  # (m, h, t, d / h) each
        scores = query @ key.transpose(2, 3) / math.sqrt(d // self.n_heads)  # (m, h, t, t)
        scores = torch.where(mask.view(m, 1, 1, t), scores.float(), FAR)  # (m, h, t, t)
        weights = self._drop(scores.softmax(dim=3).to(value.dtype))  # (m, h, t, t)
        mixed = (weights @ value).transpose(1, 2).reshape(m, t, d)  # (m, t, d)
        out: Tensor = self.attention_output(mixed)  # (m, t, d)
        return out

    def _drop(self, values: Tensor) -> Tensor:
        return functional.dropout(values, self.dropout, self.training)
