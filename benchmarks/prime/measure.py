"""Train one contestant and measure it: ranking metrics, throughput, share of the card's rate."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch

from benchmarks.prime.problem import Problem
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
    start = time.perf_counter()
    model.fit(problem.train, problem.Y, label_texts=problem.labels, validation=validation)
    seconds = time.perf_counter() - start
    return {
        "seconds": round(seconds, 1),
        **speed(model, problem, matrix_rate),
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


def speed(model: Prime, problem: Problem, matrix_rate: float | None) -> dict[str, float]:
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
        flops = flops_of_step(model, problem) * n_steps / seconds
        found["tflops"] = round(flops / 1e12)
        found["mfu"] = round(flops / matrix_rate, 3)
    return found


def flops_of_step(model: Prime, problem: Problem) -> float:
    """Floating-point operations of a step's matrix products, those of real tokens alone.

    Forward and backward pass: six per weight and token; attention and similarities beside it.
    """
    encoder = model.network_.backbone.model
    weights = sum(
        p.numel() for name, p in encoder.named_parameters() if p.ndim == 2 and "embed" not in name
    )
    config, batch = model.network_.backbone.config, model.sampler.batch_size
    n_labels = batch * model.sampler.positives
    lengths = (
        np.minimum(problem.train.lengths, config.max_length).astype(float),
        np.minimum(problem.labels.lengths, config.label_max_length).astype(float),
    )
    tokens = batch * lengths[0].mean() + n_labels * lengths[1].mean()
    pairs = batch * (lengths[0] ** 2).mean() + n_labels * (lengths[1] ** 2).mean()
    layers, dim = encoder.config.num_hidden_layers, model.network_.backbone.dim
    return float(6 * weights * tokens + 12 * layers * dim * pairs + 12 * batch * n_labels * dim)


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
