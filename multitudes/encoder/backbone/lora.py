"""LoRA: small matrices trained beside those of an encoder, and added to them in the end.

The adapters are those of `peft`. They are in the way for as long as the training takes: afterwards
the encoder is one like any other, so that nothing else has to know of them.
"""

from __future__ import annotations

import copy
from typing import Any

from torch import Tensor

from multitudes.encoder.backbone.architectures import architecture_of
from multitudes.errors import require


def add_adapters(model: Any, *, rank: int, alpha: float) -> None:
    """Put adapters beside all linear layers of a model's layers; only they are trained then.

    They change nothing before they are trained.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Changed in place.
    rank : int
        Inner size of an adapter: (n_out, rank) times (rank, n_in).
    alpha : float
        An adapter counts ``alpha / rank``.

    Raises
    ------
    MissingExtraError
        If peft is not installed.
    """
    peft = require("peft", extra="lora")
    parts = architecture_of(model)
    targets: Any = "all-linear"
    if parts is not None:
        targets = [*parts.qkv, parts.out, parts.up, parts.down]
    settings = peft.LoraConfig(r=rank, lora_alpha=alpha, lora_dropout=0.0, target_modules=targets)
    peft.inject_adapter_in_model(settings, model)


def weight_with_adapters(linear: Any) -> Tensor:
    """The weight (n_out, n_in) that a linear layer stands for, its adapters included."""
    weight: Tensor = linear.weight
    if not hasattr(linear, "lora_A") or linear.merged:
        return weight
    for name in linear.active_adapters:
        weight = weight + linear.get_delta_weight(name)
    return weight


def merge_adapters(model: Any) -> None:
    """Add adapters to the weights beside them, in place, and take them away."""
    adapted = [name for name, part in model.named_modules() if hasattr(part, "lora_A")]
    for name in adapted:
        holder, _, own = name.rpartition(".")
        linear = model.get_submodule(name)
        linear.merge()
        setattr(model.get_submodule(holder), own, linear.get_base_layer())
    if adapted and hasattr(model, "peft_config"):
        del model.peft_config
        model._hf_peft_config_loaded = False


def has_adapters(model: Any) -> bool:
    """Whether some of its linear layers have adapters."""
    return any(hasattr(part, "lora_A") for part in model.modules())


def merged_copy(model: Any) -> Any:
    """The model itself if it has no adapters, else a copy with them merged."""
    if not has_adapters(model):
        return model
    model = copy.deepcopy(model)
    merge_adapters(model)
    return model
