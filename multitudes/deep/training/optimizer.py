"""AdamW with two groups of parameters, those that decay and those that do not, and its schedule."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from multitudes.deep.training.config import TrainingConfig

# Of all steps, at most: short runs would otherwise never leave the warm-up.
WARMUP_SHARE = 0.1


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Parameters that are trained, in two groups.

    Biases and the scales of norms (all that have fewer than two dimensions) do not decay, nor does
    what the model names in an attribute `no_decay`: the names of parameters or whole sub-modules.
    """
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    exempt = tuple(getattr(model, "no_decay", ()))
    plain = [p.ndim < 2 or _is_among(name, exempt) for name, p in named]
    return [
        {
            "params": [p for (_, p), is_plain in zip(named, plain, strict=True) if not is_plain],
            "weight_decay": weight_decay,
        },
        {
            "params": [p for (_, p), is_plain in zip(named, plain, strict=True) if is_plain],
            "weight_decay": 0.0,
        },
    ]


def make_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """AdamW over the model's parameters, in one kernel on a GPU."""
    groups = [g for g in parameter_groups(model, config.weight_decay) if g["params"]]
    on_gpu = any(p.is_cuda for group in groups for p in group["params"])
    return torch.optim.AdamW(groups, lr=config.learning_rate, fused=True if on_gpu else None)


def learning_rate(config: TrainingConfig, step: int, steps_per_epoch: int) -> float:
    """The learning rate of optimizer step `step`, counted from 0 over all epochs."""
    n_steps = config.epochs * steps_per_epoch
    warmup = min(config.warmup_steps, int(WARMUP_SHARE * n_steps))
    if step < warmup:
        return config.learning_rate * (step + 1) / warmup
    done = (step - warmup) / max(n_steps - warmup, 1)
    if config.schedule == "linear":
        return config.learning_rate * max(1.0 - done, 0.0)
    if config.schedule == "constant":
        return config.learning_rate
    if config.schedule == "cosine-epochs":
        done = (step // steps_per_epoch) / config.epochs
    return config.learning_rate * 0.5 * (1.0 + math.cos(math.pi * min(done, 1.0)))


def set_learning_rate(optimizer: torch.optim.Optimizer, value: float) -> None:
    """Give all groups one learning rate."""
    for group in optimizer.param_groups:
        group["lr"] = value


def _is_among(name: str, exempt: tuple[str, ...]) -> bool:
    return any(name == own or name.startswith(f"{own}.") for own in exempt)
