"""All steps of the decoder in training: as they are, compiled, or captured as CUDA graphs.

Under autocast weights are cast once for all steps, and the steps then run without it: a captured
graph may not depend on autocast's cache, and without that each step would cast all weights anew.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch
from torch import Tensor

from multitudes.seq2set.decoder import Decoded, Decoder
from multitudes.seq2set.text_encoder import Memory

LABELS = "labels."  # embeddings are looked up, not multiplied: no cast of the whole table
Run = Callable[..., tuple[Tensor, ...]]


class Unrolling:
    """Runs the steps of a decoder.

    Parameters
    ----------
    how : "off", "on" or "graphs"
        As they are; compiled as one graph by torch.compile; captured as a CUDA graph, forwards and
        backwards, for each shape that comes.
    """

    def __init__(self, how: str) -> None:
        self.how = how
        self._made: dict[Hashable, Run] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Without what was compiled or captured, which cannot be copied."""
        return {"how": self.how, "_made": {}}

    def __call__(self, decoder: Decoder, memory: Memory, targets: Tensor | None) -> Decoded:
        """All steps of a batch; see `Decoder.forward`."""
        names, weights = zip(*decoder.named_parameters(), strict=True)
        kind = _product_type(memory.state, weights[0])
        if self.how == "off" and kind == weights[0].dtype:
            return decoder.forward(*memory, targets)
        inputs = [*memory] if targets is None else [*memory, targets]
        with torch.autocast(memory.state.device.type, enabled=False):
            run = self._run(decoder, names, kind, inputs)
            return Decoded(*run(*inputs, *weights))

    def _run(
        self, decoder: Decoder, names: Sequence[str], kind: torch.dtype, inputs: Sequence[Tensor]
    ) -> Run:
        run = _steps(decoder, names, kind, len(inputs))
        on_gpu = inputs[0].is_cuda
        if self.how == "off" or (self.how == "graphs" and not on_gpu):
            return run
        shapes = tuple(tuple(i.shape) for i in inputs) if self.how == "graphs" else ()
        key = (id(decoder), kind, len(inputs), shapes)
        if key not in self._made:
            if self.how == "graphs":
                self._made[key] = _captured(run, inputs, list(decoder.parameters()))
            else:
                self._made[key] = torch.compile(run, dynamic=False, fullgraph=True)
        return self._made[key]


def _steps(decoder: Decoder, names: Sequence[str], kind: torch.dtype, n_inputs: int) -> Run:
    """The steps as a function of tensors alone: `n_inputs` of a batch, then the weights."""

    def run(*tensors: Tensor) -> tuple[Tensor, ...]:
        values, bias, state, *targets = tensors[:n_inputs]
        weights = {
            name: weight if name.startswith(LABELS) else weight.to(kind)
            for name, weight in zip(names, tensors[n_inputs:], strict=True)
        }
        arguments = (values.to(kind), bias, state, *targets)
        decoded: Decoded = torch.func.functional_call(decoder, weights, arguments)
        return tuple(decoded)

    return run


def _captured(run: Run, inputs: Sequence[Tensor], weights: Sequence[Tensor]) -> Run:
    """The same function as two CUDA graphs; inputs are copied to where the graphs read them.

    Weights are read where they are: aliases of the same memory stand in for them while capturing,
    so that nothing of the capture clings to the parameters themselves.
    """
    copies = [i.detach().clone().requires_grad_(i.requires_grad) for i in inputs]
    aliases = [w.detach().requires_grad_(w.requires_grad) for w in weights]
    capture: Any = torch.cuda.make_graphed_callables  # its types know no function of many tensors
    graphed: Run = capture(run, (*copies, *aliases), allow_unused_input=True)
    return graphed


def _product_type(like: Tensor, weight: Tensor) -> torch.dtype:
    """Autocast's type where it is on, else that of the weights."""
    device = like.device.type
    on = torch.is_autocast_enabled(device)
    return torch.get_autocast_dtype(device) if on else weight.dtype
