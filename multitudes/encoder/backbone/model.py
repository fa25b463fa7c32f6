"""Backbone: the text encoder that instances and labels share, and its settings."""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from multitudes.config import Config, among, setting
from multitudes.deep.devices import Precision, computing_in
from multitudes.deep.memory import explain_out_of_memory
from multitudes.deep.processor import require_bf16
from multitudes.deep.texts.inputs import Texts
from multitudes.deep.texts.token_cache import kept_tokens
from multitudes.deep.texts.tokenizing import Tokenized, has_words
from multitudes.deep.texts.tokens import PackedTokens, TokenRows, pack
from multitudes.encoder.backbone.architectures import ARCHITECTURES
from multitudes.encoder.backbone.folders import Wishes, read_encoder, write_encoder
from multitudes.encoder.backbone.lora import has_adapters, merge_adapters, merged_copy
from multitudes.encoder.backbone.packed_layers import packed_forward, supports_packed
from multitudes.encoder.backbone.token_means import token_means
from multitudes.errors import ConfigError, StoreError
from multitudes.features.text_buffer import as_texts
from multitudes.progress import tell, track
from multitudes.store import checks
from multitudes.store.foreign import on_disk
from multitudes.store.state import State
from multitudes.types import FloatArray, IntArray

KIND = "backbone"
FOLDER = "sentence-transformers"
AUTO = "auto"
SHORTEST = 32  # tokens, where nothing says how long texts are
_BATCHES_ON_DEVICE = 64  # results fetched at once, so that the device seldom waits for the host


@dataclass(frozen=True)
class BackboneConfig(Config):
    """The text encoder: where it comes from, how long its texts are, how it runs.

    The numerical type it computes in belongs to the training and to `Backbone.encode`.
    """

    name: str = setting(
        "minilm",
        'A sentence-transformers or transformers encoder by name or folder; "minilm" (English, '
        'installed with the extra), "multilingual" (50 languages, from the hub), "scratch" for a '
        "small one trained from nothing.",
    )
    max_length: int | Literal["auto"] = setting(
        "auto",
        "Tokens kept of an instance's text; auto: as many as 95 % of the training texts have, "
        "between 32 and 256.",
        at_least=3,
        search=among("auto", 32, 64, 128),
    )
    label_max_length: int | Literal["auto"] = setting(
        "auto", "Tokens kept of a label's text; auto: as for instances.", at_least=3
    )
    pooling: Literal["auto", "mean", "cls", "lasttoken"] = setting(
        "auto",
        "How tokens become one embedding: their mean, the first one, the last one, or what the "
        "encoder's own folder says (if nothing, the mean).",
    )
    query_prompt: str = setting(
        "auto",
        'What is put before the text of an instance, such as "query: "; auto: what the encoder\'s '
        "own folder says (if nothing, nothing).",
    )
    label_prompt: str = setting(
        "auto", "What is put before the text of a label; auto: what the encoder's own folder says."
    )
    attention: Literal["auto", "packed", "padded"] = setting(
        "auto",
        "Run texts packed, without padding, or padded to one length; auto packs on a GPU, for "
        "BERT, DistilBERT, RoBERTa, MPNet and ModernBERT.",
    )
    gradient_checkpointing: bool = setting(
        False, "Keep less for the backward pass and compute it again: less memory, more time."
    )
    compile: bool = setting(
        False,
        "Compile the encoder for training (torch.compile): a slow start, then fast. A loaded model "
        "is not compiled.",
    )
    lora_rank: int = setting(
        0,
        "Train small matrices of this rank beside the encoder's own, which stay (LoRA, for large "
        "encoders; needs the extra lora); 0: train all of it.",
        at_least=0,
    )
    lora_alpha: float = setting(16.0, "Weight of the small matrices, times 1 / lora_rank.", above=0)
    scratch_layers: int = setting(2, "Layers of the scratch encoder.", at_least=1)
    scratch_dim: int = setting(
        128, "Embedding size of the scratch encoder, a multiple of 32.", at_least=32
    )
    scratch_vocabulary: int = setting(
        8192, "Size of the vocabulary that the scratch encoder learns, at most.", at_least=512
    )


class Backbone(nn.Module):
    """A transformer encoder with its tokenizer: texts in, unit vectors out.

    Made by `load_backbone`.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Anything whose output has a `last_hidden_state` (n_texts, length, d).
    tokenizer : transformers.PreTrainedTokenizerFast
    config : BackboneConfig
        Pooling ``"auto"`` means mean here, and a length ``"auto"`` 32: `follow_texts` sets it.

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
        self._said_padded = False
        self._check()
        self._leave_pooler()
        if config.gradient_checkpointing:
            model.gradient_checkpointing_enable({"use_reentrant": False})
        if config.compile:
            model.compile(dynamic=True)  # in place: names of parameters stay

    def _leave_pooler(self) -> None:
        """BERT's own pooling is not used, only kept, so that others can read what we save."""
        if getattr(self.model, "pooler", None) is not None:
            self.model.pooler.requires_grad_(False)

    def _check(self) -> None:
        if self.config.attention == "packed" and not supports_packed(self.model):
            known = ", ".join(sorted(name.removesuffix("Model") for name in ARCHITECTURES))
            raise ConfigError(
                f"attention='packed' supports {known} (with GELU), got "
                f"{type(self.model).__name__}: use 'auto' or 'padded'"
            )

    @property
    def max_length(self) -> int:
        """Tokens kept of an instance's text."""
        length = self.config.max_length
        return SHORTEST if isinstance(length, str) else length

    @property
    def label_max_length(self) -> int:
        """Tokens kept of a label's text."""
        length = self.config.label_max_length
        return SHORTEST if isinstance(length, str) else length

    @property
    def n_tokens(self) -> int:
        """Tokens that the encoder has a vector for."""
        return int(self.model.get_input_embeddings().weight.shape[0])

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        device: torch.device = next(self.model.parameters()).device
        return device

    def runs_packed(self) -> bool:
        """Whether `forward` runs texts packed, without padding."""
        if self.config.attention != "auto":
            return self.config.attention == "packed"
        # On a CPU the transformers module is as fast on texts of one length, and starts faster.
        if self.device.type != "cuda":
            return False
        known = supports_packed(self.model)
        if not known and not self._said_padded:
            self._said_padded = True
            tell(
                f"{type(self.model).__name__} runs padded: packed texts, which are faster, are for "
                + ", ".join(sorted(name.removesuffix("Model") for name in ARCHITECTURES))
            )
        return known

    def forward(self, tokens: PackedTokens) -> torch.Tensor:
        """Embeddings of a batch of texts.

        Returns
        -------
        float32 tensor (n_texts, d)
            L2-normalized.
        """
        if self.runs_packed():
            states = packed_forward(
                self.model,
                tokens,
                compiled=self.config.compile,
                checkpointing=self.config.gradient_checkpointing and self.training,
            )
        else:
            states = self._padded_states(tokens)
        return pooled(states, tokens, self.config.pooling)  # states: (n_tokens, d)

    def _padded_states(self, tokens: PackedTokens) -> torch.Tensor:
        """Token states (n_tokens, d) of the padded batch; those of filling mean nothing."""
        ids, mask = tokens.padded(self.tokenizer.pad_token_id)  # (n_texts, max_length) each
        states = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        texts = tokens.texts.clamp(max=len(tokens) - 1)  # (n_tokens,)
        return states[texts, tokens.positions]  # type: ignore[no-any-return]

    @property
    def wishes(self) -> Wishes:
        """Pooling and prompts, as a sentence-transformers folder has them."""
        query, label = (
            "" if prompt == AUTO else prompt
            for prompt in (self.config.query_prompt, self.config.label_prompt)
        )
        return Wishes(self.config.pooling, query, label)

    def tokenize_labels(self, texts: Texts, *, max_length: int | None = None) -> Tokenized:
        """Token ids of the texts of labels, behind their prompt."""
        limit = self.label_max_length if max_length is None else max_length
        return self._tokenized(texts, self.wishes.label_prompt, limit)

    def tokenize(self, texts: Texts, *, max_length: int | None = None) -> Tokenized:
        """Token ids of the texts of instances, behind their prompt, cut to `max_length` tokens."""
        limit = self.max_length if max_length is None else max_length
        return self._tokenized(texts, self.wishes.query_prompt, limit)

    def _tokenized(self, texts: Texts, prompt: str, limit: int) -> Tokenized:
        if not isinstance(texts, TokenRows):
            texts = as_texts(texts)
            if prompt:
                texts = [_behind(prompt, text) for text in texts]
            return kept_tokens(texts, self.tokenizer, max_length=limit)
        n_cut = int((texts.lengths > limit).sum())
        n_empty = int((~has_words(texts, self.tokenizer)).sum())
        return Tokenized(texts.shortened(limit) if n_cut else texts, n_empty=n_empty, n_cut=n_cut)

    def encode(
        self,
        texts: Texts,
        *,
        max_length: int | None = None,
        batch_size: int = 256,
        device: torch.device | str | None = None,
        precision: Precision = "float32",
        progress: str = "Encoding",
    ) -> FloatArray:
        """Embeddings of texts, without gradients or dropout.

        Parameters
        ----------
        texts : sequence of str, or TokenRows
        max_length : int, optional
            Tokens kept of a text; defaults to that of instances, and for token ids to all.
        batch_size : int
            Texts at a time. They are sorted by length first, so that little is padded.
        device : device or str, optional
            Move the backbone there first; defaults to where its parameters are.
        precision : "float32" or "bf16"
            The type to compute in: bf16 is about twice as fast on a processor that has it, and
            moves an embedding by about 0.01. The result is float32 in any case.
        progress : str
            What to call the work in a progress display.

        Returns
        -------
        float32 array (n_texts, d)
            L2-normalized, in the order of `texts`.
        """
        if batch_size < 1:
            raise ConfigError(f"batch_size must be >= 1, got {batch_size!r}")
        if device is not None:
            self.to(device)
        rows = texts
        if not isinstance(rows, TokenRows):
            rows = self.tokenize(rows, max_length=max_length).rows
        elif max_length is not None:
            rows = rows.shortened(max_length)
        embeddings = np.empty((len(rows), self.dim), np.float32)
        order = np.argsort(-rows.lengths, kind="stable")  # longest first: memory errors come early
        was_training = self.training
        self.eval()
        try:
            with (
                track(progress, len(rows), "texts") as task,
                explain_out_of_memory(lower=("batch_size", "max_length")),
                torch.inference_mode(),
                computing_in(precision, self.device),
            ):
                # A CPU computes at once, and its results lie here already.
                at_once = 1 if self.device.type == "cpu" else _BATCHES_ON_DEVICE
                for some in _split(order, batch_size * at_once):
                    embeddings[some] = self._encoded(rows, some, batch_size).cpu().numpy()
                    task.advance(len(some))
        finally:
            self.train(was_training)
        return embeddings

    def _encoded(self, rows: TokenRows, order: IntArray, batch_size: int) -> torch.Tensor:
        """Embeddings (n, d) of some texts, left on the device."""
        batches = [
            self(pack(rows.take(batch), device=self.device))  # (batch, d)
            for batch in _split(order, batch_size)
        ]
        return batches[0] if len(batches) == 1 else torch.cat(batches)

    def frozen(self, precision: Precision = "bf16") -> Backbone:
        """A copy for prediction alone: no gradients, no dropout, weights in `precision`.

        Faster than `encode` with that precision, which casts the weights at each call. On a
        processor without bf16 it is slower than float32: see `fastest_precision`.
        """
        model = copy.deepcopy(self.model).eval()
        merge_adapters(model)
        model.requires_grad_(False)
        if precision == "bf16":
            if self.device.type == "cpu":
                require_bf16()
            model = model.to(torch.bfloat16)
        config = dataclasses.replace(self.config, compile=False)  # compiling pays in training
        return Backbone(model, self.tokenizer, config).eval()

    def merge_adapters(self) -> None:
        """Add what the adapters of LoRA learned to the weights, and take them away."""
        if not has_adapters(self.model):
            return
        merge_adapters(self.model)
        self.model.requires_grad_(True)
        self._leave_pooler()

    def to_state(self) -> State:
        """Settings, and a sentence-transformers folder."""
        return State(KIND, self.config.to_dict(), folders={FOLDER: self.write_folder})

    def write_folder(self, folder: Path) -> None:
        """Fill an empty folder that ``SentenceTransformer(folder)`` reads as the same encoder."""
        write_encoder(
            merged_copy(self.model),
            self.tokenizer,
            folder,
            max_length=self.max_length,
            wishes=self.wishes,
        )

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check the settings; the encoder itself is checked when it is read, and then tried."""
        checks.names(state)
        checks.settings(BackboneConfig, state.config, "backbone")
        if list(state.folders) != [FOLDER]:
            raise StoreError(f"its folders must be {[FOLDER]}, got {list(state.folders)}")

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build the backbone again, on the CPU; it is not compiled, whatever it was."""
        config = BackboneConfig.from_dict(state.config)
        with on_disk(state.folders[FOLDER]) as folder:
            model, tokenizer, _ = read_encoder(folder)
        backbone = cls(model, tokenizer, dataclasses.replace(config, compile=False))
        backbone._try()
        return backbone

    def _try(self) -> None:
        """Encode a text, since no check of files says whether they make an encoder."""
        vectors = self.encode(["a text"])
        if vectors.shape != (1, self.dim) or not np.isfinite(vectors).all():
            raise StoreError("its encoder does not give finite vectors")


def _behind(prompt: str, text: str) -> str:
    """A text with its prompt; what is no text is left for the tokenizer to refuse."""
    return prompt + text if isinstance(text, str) else text


def _split(order: IntArray, size: int) -> list[IntArray]:
    return [order[start : start + size] for start in range(0, len(order), size)]


def pooled(states: torch.Tensor, tokens: PackedTokens, how: str) -> torch.Tensor:
    """L2-normalized float32 embeddings (n_texts, d) of token states (n_tokens, d).

    ``"mean"`` averages a text's tokens, special ones included; ``"cls"`` takes its first,
    ``"lasttoken"`` its last.
    """
    if how == "cls":
        vectors = states[tokens.offsets[:-1].long()].float()  # (n_texts, d)
    elif how == "lasttoken":
        vectors = states[tokens.offsets[1:].long() - 1].float()
    else:
        vectors = token_means(states, tokens.texts, tokens.offsets)  # (n_texts, d)
    return F.normalize(vectors, dim=1)
