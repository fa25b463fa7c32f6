"""AdamW with two groups of parameters, those that decay and those that do not, and its schedule.

Tables of which a step reads a few rows have a gradient of these rows alone, and an Adam of their
own, which moves no others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from multitudes.deep.training.config import TrainingConfig

# Of all steps, at most: short runs would otherwise never leave the warm-up.
WARMUP_SHARE = 0.1


@dataclass(frozen=True)
class SparseRows:
    """A table with sparse gradients, which a model names in an attribute `sparse_rows`.

    Parameters
    ----------
    table : Parameter (n, d)
        It need not be one of the model's own.
    moments : tensors (n, d) by name, "exp_avg" and "exp_avg_sq", optional
        Where Adam's moments are kept; by default the optimizer makes them.
    """

    table: nn.Parameter
    moments: Mapping[str, Tensor] = field(default_factory=dict)


class JoinedOptimizers(torch.optim.Optimizer):
    """Optimizers of different parameters, as one: they share groups and state.

    Parameters
    ----------
    parts : Optimizer
    kept : tensors by name, for parameters
        State that stays where it is when another one is loaded.
    """

    def __init__(
        self,
        *parts: torch.optim.Optimizer,
        kept: Mapping[nn.Parameter, Mapping[str, Tensor]],
    ) -> None:
        super().__init__([group for part in parts for group in part.param_groups], {})
        self.parts, self.kept = parts, kept
        for parameter, tensors in kept.items():
            if tensors:
                self.state[parameter] = {"step": 0, **tensors}
        self._share()

    def _share(self) -> None:
        groups = iter(self.param_groups)
        for part in self.parts:
            part.param_groups = [next(groups) for _ in part.param_groups]
            part.state = self.state

    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Step with all of them."""
        for part in self.parts:
            part.step()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state back."""
        super().load_state_dict(state_dict)
        for parameter, tensors in self.kept.items():
            for name, tensor in tensors.items():
                tensor.copy_(self.state[parameter][name])
                self.state[parameter][name] = tensor
        self._share()


def clip_gradients(parameters: list[nn.Parameter], largest: float) -> None:
    """Scale gradients so that their norm, over all of them, is at most `largest`."""
    values = []
    for parameter in parameters:
        if parameter.grad is not None and parameter.grad.is_sparse:
            parameter.grad = parameter.grad.coalesce()  # a row that comes twice counts once
            values.append(parameter.grad.values())
        elif parameter.grad is not None:
            values.append(parameter.grad)
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(values)))
    torch._foreach_mul_(values, (largest / (norm + 1e-6)).clamp(max=1.0))


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Parameters that are trained, in two groups.

    Biases and the scales of norms (all that have fewer than two dimensions) do not decay, nor does
    what the model names in an attribute `no_decay`: the names of parameters or whole sub-modules.
    """
    tables = {id(rows.table) for rows in getattr(model, "sparse_rows", ())}
    named = [
        (name, p) for name, p in model.named_parameters() if p.requires_grad and id(p) not in tables
    ]
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
    """AdamW over the model's parameters, in one kernel on a GPU; see the module for tables."""
    groups = [g for g in parameter_groups(model, config.weight_decay) if g["params"]]
    on_gpu = any(p.is_cuda for group in groups for p in group["params"])
    adam = torch.optim.AdamW(groups, lr=config.learning_rate, fused=True if on_gpu else None)
    tables = list(getattr(model, "sparse_rows", ()))
    if not tables:
        return adam
    rows = torch.optim.SparseAdam([rows.table for rows in tables], lr=config.learning_rate)
    return JoinedOptimizers(adam, rows, kept={rows.table: rows.moments for rows in tables})


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
