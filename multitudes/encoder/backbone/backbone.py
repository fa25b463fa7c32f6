"""Backbone: the text encoder that instances and labels share."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import nn

from multitudes.deep.processor import require_bf16
from multitudes.deep.texts.tokenizing import Tokenized, tokenize
from multitudes.deep.texts.tokens import PackedTokens, TokenRows
from multitudes.encoder.backbone.backbone_config import BackboneConfig
from multitudes.encoder.backbone.encoding import Precision, encode
from multitudes.encoder.backbone.pooling import pooled
from multitudes.encoder.backbone.saving import backbone_state, read_backbone_folder
from multitudes.encoder.packed.packed_bert import packed_bert_forward, supports_packed
from multitudes.errors import ConfigError
from multitudes.store.state import State
from multitudes.types import FloatArray


class Backbone(nn.Module):
    """A transformer encoder with its tokenizer: texts in, unit vectors out.

    Made by `multitudes.encoder.backbone.loading.load_backbone`.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Anything whose output has a `last_hidden_state` (n_texts, length, d).
    tokenizer : transformers.PreTrainedTokenizerFast
    config : BackboneConfig
        Pooling ``"auto"`` means mean here.

    Attributes
    ----------
    dim : int
        Size d of an embedding.
    """

    def __init__(self, model: Any, tokenizer: Any, config: BackboneConfig) -> None:
        super().__init__()
        self.model = model
        self.tokenizer = tokenizer
        self.config = config
        self.dim = int(model.config.hidden_size)
        self._check()
        if getattr(model, "pooler", None) is not None:
            # BERT's own pooling is not used, only kept, so that others can read what we save.
            model.pooler.requires_grad_(False)
        if config.gradient_checkpointing:
            model.gradient_checkpointing_enable({"use_reentrant": False})
        if config.compile:
            model.compile(dynamic=True)  # in place: names of parameters stay

    def _check(self) -> None:
        if self.config.attention != "packed":
            return
        if not supports_packed(self.model):
            raise ConfigError(
                f"attention='packed' knows no {type(self.model).__name__}, only plain BERT: "
                "use 'auto' or 'padded'"
            )
        if self.config.gradient_checkpointing:
            raise ConfigError(
                "gradient_checkpointing does not work with attention='packed': "
                "use attention='padded', or a smaller batch"
            )

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        device: torch.device = next(self.model.parameters()).device
        return device

    def runs_packed(self) -> bool:
        """Whether `forward` takes the way without padding."""
        if self.config.attention != "auto":
            return self.config.attention == "packed"
        # On a CPU the transformers module is as fast on texts of one length, and starts faster.
        on_gpu = self.device.type == "cuda"
        return on_gpu and not self.config.gradient_checkpointing and supports_packed(self.model)

    def forward(self, tokens: PackedTokens) -> torch.Tensor:
        """Embeddings of a batch of texts.

        Returns
        -------
        float32 tensor (n_texts, d)
            L2-normalized.
        """
        if self.runs_packed():
            states = packed_bert_forward(self.model, tokens, compiled=self.config.compile)
        else:
            states = self._padded_states(tokens)
        return pooled(states, tokens, self.config.pooling)  # states: (n_tokens, d)

    def _padded_states(self, tokens: PackedTokens) -> torch.Tensor:
        """Token states (n_tokens, d) by way of the padded batch; those of filling mean nothing."""
        ids, mask = tokens.padded(self.tokenizer.pad_token_id)  # (n_texts, max_length) each
        states = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        texts = tokens.texts.clamp(max=len(tokens) - 1)  # (n_tokens,)
        return states[texts, tokens.positions]  # type: ignore[no-any-return]

    def tokenize(self, texts: Sequence[str], *, max_length: int | None = None) -> Tokenized:
        """Token ids of texts, cut to `max_length` tokens (by default that of instances)."""
        limit = self.config.max_length if max_length is None else max_length
        return tokenize(texts, self.tokenizer, max_length=limit)

    def encode(
        self,
        texts: Sequence[str] | TokenRows,
        *,
        max_length: int | None = None,
        batch_size: int = 256,
        device: torch.device | str | None = None,
        precision: Precision = "float32",
        progress: str = "Encoding",
    ) -> FloatArray:
        """Embeddings of texts, without gradients; see `encoding.encode`."""
        if device is not None:
            self.to(device)
        rows = texts
        if not isinstance(rows, TokenRows):
            rows = self.tokenize(rows, max_length=max_length).rows
        elif max_length is not None:
            rows = rows.shortened(max_length)
        return encode(self, rows, batch_size=batch_size, precision=precision, progress=progress)

    def frozen(self, precision: Precision = "bf16") -> Backbone:
        """A copy for prediction alone: no gradients, no dropout, weights in `precision`.

        Faster than `encode` with that precision, which casts the weights at each call; on a
        processor without bf16 it is slower than float32: `encoding.fastest_precision` knows.
        """
        model = copy.deepcopy(self.model).eval().requires_grad_(False)
        if precision == "bf16":
            if self.device.type == "cpu":
                require_bf16()
            model = model.to(torch.bfloat16)
        config = dataclasses.replace(self.config, compile=False)  # compiling pays in training
        return Backbone(model, self.tokenizer, config).eval()

    def to_state(self) -> State:
        """Settings, and a sentence-transformers folder."""
        return backbone_state(self)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build the backbone again, on the CPU; it is not compiled, whatever it was."""
        model, tokenizer, config = read_backbone_folder(state)
        return cls(model, tokenizer, dataclasses.replace(config, compile=False))
