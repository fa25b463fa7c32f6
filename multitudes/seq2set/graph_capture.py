"""Loss and gradients of a batch as one CUDA graph for each shape of the batch.

A training step of a recurrent network is thousands of small kernels, and launching them one by one
takes longer than running them. A graph launches them all at once. Forwards and backwards are in the
same graph: nothing has to outlive a replay but the loss terms and the gradients, which all graphs
write to the same places, so that graphs of further shapes share one pool of memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function

from multitudes.deep.training import LOSS
from multitudes.errors import TrainingError

WARM_UPS = 2  # kernels are compiled and libraries set up before a capture, not in it

capturing = threading.RLock()
"""Held while a graph is captured: a thread that pins or copies memory would break it."""


class CapturedGradients:
    """Runs a module that gives loss terms, captured with its gradients.

    Parameters
    ----------
    module : Module
        A function of tensors without gradients, that gives () tensors by name; "loss" is the one to
        differentiate. It must not wait for the device, nor depend on values but those of its inputs
        and parameters. Random numbers are those of the device's default generator.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.n_replays = 0
        self._graphs: dict[Hashable, _Graph] = {}
        self._addresses: tuple[int, ...] = ()
        self._pool: Any = None
        self._kept = _Kept()

    def __len__(self) -> int:
        """Graphs captured so far."""
        return len(self._graphs)

    def __call__(self, *inputs: Tensor) -> dict[str, Tensor]:
        """The terms of a batch; "loss" has a gradient, which must be asked for before the next."""
        weights = list(self.module.parameters())
        self._forget_if_moved(weights)
        kind = _autocast_type(inputs[0])
        key = (kind, *(i.shape for i in inputs))
        if key not in self._graphs:
            self._graphs[key] = self._captured(inputs, kind)
        self._graphs[key](inputs)
        self.n_replays += 1
        terms = {name: term.clone() for name, term in self._kept.terms.items()}
        learned = [w for w in weights if w.requires_grad]
        terms[LOSS] = _Replayed.apply(self, *learned)  # type: ignore[no-untyped-call]
        return terms

    def gradients(self, scale: Tensor) -> list[Tensor | None]:
        """Those of the last batch, times `scale` (): new tensors, which no replay writes to."""
        there = [g for g in self._kept.gradients if g is not None]
        scaled = iter(torch._foreach_mul(there, scale))
        return [None if g is None else next(scaled) for g in self._kept.gradients]

    @property
    def loss(self) -> Tensor:
        """A copy of the last batch's loss."""
        return self._kept.terms[LOSS].clone()

    def _captured(self, inputs: Sequence[Tensor], kind: torch.dtype | None) -> _Graph:
        places = [i.clone() for i in inputs]
        device = places[0].device
        with capturing, torch.enable_grad():
            if self._pool is None and device.type == "cuda":
                self._pool = torch.cuda.graph_pool_handle()
            # Without a cache, because a graph reads weights where they are, not a copy of before.
            with torch.autocast(device.type, kind, enabled=kind is not None, cache_enabled=False):
                return _Graph(record(lambda: self._compute(places), device, self._pool), places)

    def _compute(self, inputs: Sequence[Tensor]) -> None:
        """Terms and gradients of a batch, written to where they are kept."""
        # New aliases each time: nothing of a capture clings to the parameters, and autograd's nodes
        # belong to the stream that is captured.
        weights = {
            name: weight.detach().requires_grad_(weight.requires_grad)
            for name, weight in self.module.named_parameters()
        }
        terms = torch.func.functional_call(self.module, weights, tuple(inputs))
        learned = [w for w in weights.values() if w.requires_grad]
        # Backwards what forwards was in full precision stays so: `backward` is called outside of
        # autocast, and a capture must compute what that does.
        with torch.autocast(terms[LOSS].device.type, enabled=False):
            gradients = torch.autograd.grad(terms[LOSS], learned, allow_unused=True)
        self._kept.keep(terms, gradients)

    def _forget_if_moved(self, weights: Sequence[Tensor]) -> None:
        """Graphs read weights at their old addresses: of no use where these have changed."""
        addresses = tuple(w.data_ptr() for w in weights)
        if addresses != self._addresses:
            self._graphs.clear()
            self._kept, self._pool, self._addresses = _Kept(), None, addresses


class _Graph:
    """A captured computation, and the places it reads its inputs from."""

    def __init__(self, replay: Callable[[], None], places: Sequence[Tensor]) -> None:
        self.replay, self.places = replay, places

    def __call__(self, inputs: Sequence[Tensor]) -> None:
        for place, value in zip(self.places, inputs, strict=True):
            place.copy_(value, non_blocking=True)
        self.replay()


class _Kept:
    """Where all graphs write terms () and gradients; made by the first, outside its capture."""

    def __init__(self) -> None:
        self.terms: dict[str, Tensor] = {}
        self.gradients: list[Tensor | None] = []

    def keep(self, terms: Mapping[str, Tensor], gradients: Sequence[Tensor | None]) -> None:
        if not self.terms:
            self.terms = {name: torch.empty_like(term) for name, term in terms.items()}
            self.gradients = [None if g is None else g.new_empty(g.shape) for g in gradients]
        for name, term in terms.items():
            self.terms[name].copy_(term.detach())
        pairs = zip(self.gradients, gradients, strict=True)
        both = [(to, of) for to, of in pairs if to is not None and of is not None]
        # Those of the same layout together, as few kernels; one that differs would undo that.
        same = [(to, of) for to, of in both if to.stride() == of.stride()]
        torch._foreach_copy_([to for to, _ in same], [of for _, of in same])
        for to, of in both:
            if to.stride() != of.stride():
                to.copy_(of)


class _Replayed(Function):
    """The loss of the last replay, as a function of the weights."""

    @staticmethod
    def forward(ctx: Any, captured: CapturedGradients, *weights: Tensor) -> Tensor:
        ctx.captured, ctx.number = captured, captured.n_replays
        return captured.loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        if ctx.number != ctx.captured.n_replays:
            raise TrainingError(
                "the gradients of a captured step were overwritten by a later step: call "
                "loss.backward() before the next batch, or train with compile='off'"
            )
        return (None, *ctx.captured.gradients(grads[0]))


def record(compute: Callable[[], None], device: torch.device, pool: Any) -> Callable[[], None]:
    """Capture what `compute` does on the device; gives a function that does it again."""
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream(device))
    # When a graph is captured must not matter to the random numbers of later steps.
    with torch.random.fork_rng([device]), torch.cuda.stream(stream):
        for _ in range(WARM_UPS):
            compute()
    torch.cuda.current_stream(device).wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    # What other threads do meanwhile, e.g. serve another model, is their own affair.
    with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
        compute()
    replay: Callable[[], None] = graph.replay
    return replay


def _autocast_type(like: Tensor) -> torch.dtype | None:
    """Autocast's type where it is on."""
    device = like.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
