"""Which text encoder is used, and how texts go through it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from multitudes.config import Config, setting


@dataclass(frozen=True)
class BackboneConfig(Config):
    """The text encoder: where it comes from, how long its texts are, how it runs.

    The numerical type it computes in belongs to the training and to `Backbone.encode`.
    """

    name: str = setting(
        "minilm",
        'A sentence-transformers or transformers encoder by name or folder; "minilm" for the one '
        'in a Python package; "scratch" for a small one trained from nothing.',
    )
    max_length: int = setting(32, "Tokens kept of an instance's text.", at_least=3)
    label_max_length: int = setting(32, "Tokens kept of a label's text.", at_least=3)
    pooling: Literal["auto", "mean", "cls"] = setting(
        "auto",
        "How tokens become one embedding: their mean, the first one, or what the encoder's own "
        "folder says (mean where it says nothing).",
    )
    attention: Literal["auto", "packed", "padded"] = setting(
        "auto",
        "Run texts packed, without padding (BERT on a GPU), or padded to one length; auto chooses.",
    )
    gradient_checkpointing: bool = setting(
        False, "Keep less for the backward pass and compute it again: less memory, more time."
    )
    compile: bool = setting(
        False,
        "Compile the encoder for training (torch.compile): a slow start, then fast. A loaded model "
        "is not compiled.",
    )
    scratch_layers: int = setting(2, "Layers of the scratch encoder.", at_least=1)
    scratch_dim: int = setting(
        128, "Embedding size of the scratch encoder, a multiple of 32.", at_least=32
    )
    scratch_vocabulary: int = setting(
        8192, "Size of the vocabulary that the scratch encoder learns, at most.", at_least=512
    )
