"""What the losses of set generation cost, forwards and backwards: ``benchmarks.set_losses``.

Run ``python -m benchmarks.set_losses``. Generated states and targets of about the size of
eurlex-titles; ``--labels 670091 --width 512 --steps 7 --skip-dense`` is Amazon-670K's. The paper's
way is beside ours: all logits at once, then matching and transport instance by instance.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor
from torch.nn import functional

from benchmarks.report import finish, rows_of, show
from multitudes.deep.ops.transport import cosine_distances, transport_plans
from multitudes.seq2set.losses import sequence_loss, set_generation_loss, set_matching_loss
from multitudes.seq2set.losses.config import SetLossConfig
from multitudes.seq2set.losses.step_matching import Matcher
from multitudes.seq2set.network.label_softmax import OutputLayer

EMPTY = 0


@dataclass(frozen=True)
class Problem:
    """A batch: states (b, N, z), the output layer, label embeddings (V, d), targets (b, N)."""

    states: Tensor
    output: OutputLayer
    embeddings: Tensor
    targets: Tensor


def make_problem(options: argparse.Namespace) -> Problem:
    """Random states and weights; as many labels an instance as a Poisson draw says, from 1 to N."""
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    counts = np.clip(rng.poisson(options.mean_labels, options.batch), 1, options.steps)
    targets = np.full((options.batch, options.steps), -1)
    for row, count in zip(targets, counts, strict=True):
        row[:count] = 1 + rng.choice(options.labels - 1, count, replace=False)
    device = options.device
    states = torch.randn(options.batch, options.steps, options.width, device=device)
    weight = 0.1 * torch.randn(options.labels, options.width, device=device)
    bias = torch.zeros(options.labels, device=device)
    return Problem(
        states.requires_grad_(),
        OutputLayer(weight.requires_grad_(), bias.requires_grad_()),
        torch.randn(options.labels, options.dim, device=device),
        torch.from_numpy(targets).to(device),
    )


def in_batches(problem: Problem, matcher: Matcher, transport_weight: float) -> Tensor:
    """Our loss ()."""
    terms = set_generation_loss(
        problem.states,
        problem.targets,
        problem.output,
        empty=EMPTY,
        matcher=matcher,
        embeddings=problem.embeddings,
        config=SetLossConfig(transport_weight=transport_weight),
    )
    return terms["loss"]


def one_by_one(problem: Problem) -> Tensor:
    """The same loss () the paper's way."""
    logits = functional.linear(problem.states, problem.output.weight, problem.output.bias)
    log_probs = logits.log_softmax(dim=2)  # (b, N, V)
    steps = torch.full_like(problem.targets, -1)  # (b, N)
    distances = []
    for i, row in enumerate(log_probs):
        labels = problem.targets[i][problem.targets[i] >= 0]  # (n,)
        gain = row.detach().exp()[:, labels].T.cpu().numpy()  # (n, N)
        found = linear_sum_assignment(gain, maximize=True)[1]
        steps[i, : len(labels)] = torch.from_numpy(found).to(steps.device)
        expected = row.exp() @ problem.embeddings  # (N, d)
        cost = cosine_distances(expected[None], problem.embeddings[labels][None])  # (1, N, n)
        there = torch.ones_like(cost, dtype=torch.bool)
        plan = transport_plans(cost.detach(), there[:, :, 0], there[:, 0])  # (1, N, n)
        distances.append((plan * cost).sum())
    at = problem.targets.clamp(min=0).unsqueeze(1).expand(-1, len(log_probs[0]), -1)  # (b, N, N)
    matching = set_matching_loss(log_probs.gather(2, at), log_probs[:, :, EMPTY], steps)
    return matching + SetLossConfig().transport_weight * torch.stack(distances).mean()


def measured(loss: Callable[[], Tensor], problem: Problem, rounds: int) -> dict[str, float]:
    """Milliseconds of a loss and its gradients, the median; and the memory they take."""
    on_cuda = problem.states.is_cuda
    parts = [problem.states, problem.output.weight, problem.output.bias]
    times, value = [], 0.0
    for _ in range(rounds + 1):  # the first compiles
        if on_cuda:
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
        start = time.perf_counter()
        result = loss()
        gradients = torch.autograd.grad(result, [part for part in parts if part is not None])
        value = result.item()
        times.append(time.perf_counter() - start)
        del result, gradients
    found = {"milliseconds": 1e3 * statistics.median(times[1:]), "loss": value}
    if on_cuda:
        found["peak_mb"] = (torch.cuda.max_memory_allocated() - before) / 1e6
    return found


def compare(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Each way to the loss, beside the cross-entropy of a sequence model."""
    problem = make_problem(options)
    weight = SetLossConfig().transport_weight
    with Matcher() as matcher, Matcher(on_host=True) as on_host:
        ways: dict[str, Callable[[], Any]] = {
            "sequence": lambda: sequence_loss(problem.states, problem.targets, problem.output),
            "set, matching alone": lambda: in_batches(problem, matcher, 0.0),
            "set": lambda: in_batches(problem, matcher, weight),
            "set, matched on the host": lambda: in_batches(problem, on_host, weight),
        }
        if not options.skip_dense:
            ways["set, one by one"] = lambda: one_by_one(problem)
        return {name: measured(way, problem, options.rounds) for name, way in ways.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=6_500)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=26)
    parser.add_argument("--mean-labels", type=float, default=6.4)
    parser.add_argument("--width", type=int, default=300, help="of what the output layer reads")
    parser.add_argument("--dim", type=int, default=100, help="of label embeddings")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--skip-dense", action="store_true", help="leave the paper's way out")
    parser.add_argument("--store", action="store_true", help="keep the results")
    options = parser.parse_args()
    results = compare(options)
    columns = list(next(iter(results.values())))
    rows = [[name, *(f"{found[c]:.3f}" for c in columns)] for name, found in results.items()]
    show("losses of a batch, with gradients", ["", *columns], rows)
    finish("set_losses", rows_of(results), settings=vars(options), store=options.store)


if __name__ == "__main__":
    main()
