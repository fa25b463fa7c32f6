"""All steps of the decoder in training: as they are, or compiled.

Under autocast weights are cast once for all steps, and the steps then run without it: a captured
graph may not depend on autocast's cache, and without that each step would cast all weights anew.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch
from torch import Tensor

from multitudes.seq2set.network.decoder import Decoded, Decoder
from multitudes.seq2set.network.text_encoder import Memory

Run = Callable[..., tuple[Any, ...]]


class Unrolling:
    """Runs the steps of a decoder.

    Parameters
    ----------
    how : "off", "on" or "graphs"
        "on": compiled as one graph by torch.compile. Otherwise as they are: what is captured as a
        CUDA graph is more than the decoder, see `multitudes.seq2set.training_step`.
    """

    def __init__(self, how: str) -> None:
        self.how = how
        self._made: dict[Hashable, Run] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Without what was compiled, which cannot be copied."""
        return {"how": self.how, "_made": {}}

    def __call__(self, decoder: Decoder, memory: Memory, targets: Tensor | None) -> Decoded:
        """All steps of a batch; see `Decoder.forward`."""
        names, weights = zip(*decoder.named_parameters(), strict=True)
        kind = _product_type(memory.state, weights[0])
        if self.how != "on" and kind == weights[0].dtype:
            return decoder.forward(*memory, targets)
        inputs = [*memory] if targets is None else [*memory, targets]
        with torch.autocast(memory.state.device.type, enabled=False):
            run = self._run(decoder, names, kind, len(inputs))
            return Decoded(*run(*inputs, *weights))

    def _run(self, decoder: Decoder, names: Sequence[str], kind: torch.dtype, n_inputs: int) -> Run:
        run = _steps(decoder, names, kind, n_inputs)
        if self.how != "on":
            return run
        key = (id(decoder), kind, n_inputs)
        if key not in self._made:
            self._made[key] = torch.compile(run, dynamic=False, fullgraph=True)
        return self._made[key]


def _steps(decoder: Decoder, names: Sequence[str], kind: torch.dtype, n_inputs: int) -> Run:
    """The steps as a function of tensors alone: `n_inputs` of a batch, then the weights."""

    def run(*tensors: Tensor) -> tuple[Any, ...]:
        as_it_is = decoder.casts_itself  # here, because it depends on whether this is compiled
        values, bias, state, *targets = tensors[:n_inputs]
        weights = {
            name: weight if name.startswith(as_it_is) else weight.to(kind)
            for name, weight in zip(names, tensors[n_inputs:], strict=True)
        }
        arguments = (values.to(kind), bias, state, *targets)
        decoded: Decoded = torch.func.functional_call(decoder, weights, arguments)
        return tuple(decoded)

    return run


def _product_type(like: Tensor, weight: Tensor) -> torch.dtype:
    """Autocast's type where it is on, else that of the weights."""
    device = like.device.type
    on = torch.is_autocast_enabled(device)
    return torch.get_autocast_dtype(device) if on else weight.dtype
