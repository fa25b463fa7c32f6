"""Train one contestant and measure it: ranking metrics, throughput, share of the card's rate."""

from __future__ import annotations

import time
from typing import Any
from unittest.mock import patch

import torch

from benchmarks.prime.problem import Problem
from multitudes.encoder import fitting
from multitudes.encoder.network import PrimeNetwork
from multitudes.encoder.prime import Prime
from multitudes.metrics import evaluate, inverse_propensity

KS = (1, 3, 5)
DEEPEST = 100
MATRIX = 8192  # size of the product that tells the card's own rate


def train_and_measure(
    model: Prime, problem: Problem, *, validation: Any = None, matrix_rate: float | None
) -> dict[str, Any]:
    """Fit on the training split, look at the test split once."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    counted = CountedBatches()
    start = time.perf_counter()
    with patch.object(fitting, "put_on_device", counted.put_on_device):
        model.fit(problem.train, problem.Y, label_texts=problem.labels, validation=validation)
    seconds = time.perf_counter() - start
    return {
        "seconds": round(seconds, 1),
        **speed(model, counted, matrix_rate),
        **metrics(model, problem),
        "curve": [{"epoch": e.epoch + 1, **e.terms, **e.metrics} for e in model.history_.epochs],
    }


def metrics(model: Prime, problem: Problem) -> dict[str, float]:
    """P, PSP at 1, 3, 5 and R at 100, in percent, test pairs filtered; P@1 unfiltered too."""
    weights = inverse_propensity(problem.Y)
    embeddings = model.embed(problem.test)
    found = model.index_.search(embeddings, top_k=DEEPEST, filter_pairs=problem.test_pairs)
    report = evaluate(found, problem.Y_test, ks=(*KS, DEEPEST), inverse_propensity=weights)
    names = [f"{kind}@{k}" for kind in ("P", "PSP") for k in KS] + [f"R@{DEEPEST}"]
    plain = evaluate(model.index_.search(embeddings, top_k=5), problem.Y_test, ks=KS)
    values = {name: round(100 * report[name], 2) for name in names}
    return values | {f"P@{k} unfiltered": round(100 * plain[f"P@{k}"], 2) for k in KS}


def speed(model: Prime, counted: CountedBatches, matrix_rate: float | None) -> dict[str, float]:
    """Steps and instances a second of the training loop; the first epoch warms up."""
    epochs = model.history_.epochs
    steady = epochs[1:] or epochs
    seconds = sum(epoch.seconds for epoch in steady)
    n_steps = sum(epoch.n_batches for epoch in steady)
    batch = model.sampler.batch_size
    found = {
        "steps_per_second": round(n_steps / seconds, 2),
        "instances_per_second": round(n_steps * batch / seconds),
        "best_epoch_instances_per_second": round(max(e.instances_per_second for e in steady)),
    }
    if torch.cuda.is_available():
        found["peak_gb"] = round(torch.cuda.max_memory_allocated() / 2**30, 1)
    if matrix_rate is not None:
        flops = counted.flops(model.network_) * n_steps / seconds
        found["tflops"] = round(flops / 1e12)
        found["mfu"] = round(flops / matrix_rate, 3)
    return found


class CountedBatches:
    """Counts the operations of the batches that a training draws, each batch by its own texts.

    Labels of a batch are distinct and fewer than instances times positives, so that the sizes of
    the settings would count too much.
    """

    def __init__(self) -> None:
        self.n_batches, self.total = 0, [0.0, 0.0, 0.0]
        self._plain = fitting.put_on_device

    def put_on_device(self, batch: Any, instances: Any, labels: Any, **given: Any) -> Any:
        """As `multitudes.encoder.network.put_on_device` does it."""
        lengths = instances.lengths[batch.instances], labels.lengths[batch.labels]
        self.total = [a + b for a, b in zip(self.total, sizes_of(*lengths), strict=True)]
        self.n_batches += 1
        return self._plain(batch, instances, labels, **given)

    def flops(self, network: PrimeNetwork) -> float:
        """Operations of a mean batch."""
        return flops_of(network, [part / max(self.n_batches, 1) for part in self.total])


def sizes_of(instances: Any, labels: Any) -> list[float]:
    """Tokens, pairs of tokens in a text, and similarities of a batch, from lengths of its texts."""
    tokens = float(instances.sum() + labels.sum())
    pairs = float((instances.astype(float) ** 2).sum() + (labels.astype(float) ** 2).sum())
    return [tokens, pairs, float(len(instances)) * len(labels)]


def flops_of(network: PrimeNetwork, sizes: list[float]) -> float:
    """Floating-point operations of a step's matrix products, those of real tokens alone.

    Forward and backward pass: six per weight and token; attention and similarities beside it.
    """
    encoder = network.backbone.model
    weights = sum(
        p.numel()
        for name, p in encoder.named_parameters()
        if p.ndim == 2 and "embed" not in name and "pooler" not in name
    )
    layers, dim = encoder.config.num_hidden_layers, network.backbone.dim
    tokens, pairs, similarities = sizes
    return 6 * weights * tokens + 12 * layers * dim * pairs + 12 * dim * similarities


def matrix_rate() -> float | None:
    """Operations a second of a large bf16 matrix product on this card; None without one."""
    if not torch.cuda.is_available():
        return None
    a, b = (torch.randn(MATRIX, MATRIX, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    for _ in range(3):
        a @ b
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(10):
        a @ b
    end.record()
    torch.cuda.synchronize()
    return 10 * 2 * MATRIX**3 / (start.elapsed_time(end) / 1e3)
