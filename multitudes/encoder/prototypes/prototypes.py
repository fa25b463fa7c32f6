"""The label prototype network: text embedding, centroid and free vector become one vector."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from multitudes.encoder.losses.mining import FAR
from multitudes.encoder.prototypes.prototype_config import SOURCES, PrototypeConfig
from multitudes.errors import ConfigError


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

    def __init__(self, dim: int, config: PrototypeConfig | None = None) -> None:
        super().__init__()
        self.dim, self.config = dim, config or PrototypeConfig()
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
            Which label has which source, in the order of `SOURCES`; all by default. What stands in
            the place of an absent source does not matter.

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
    """Take sources from some labels, as if they had not been seen in training.

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
        """Tokens (m, t, d) to (m, t, d); nobody looks at those with `mask` (m, t, 1) False."""
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
