"""Train one contestant and measure it: metrics of sets and of ranks, speed, memory."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from benchmarks.seq2set.problem import Problem
from multitudes.metrics import evaluate, set_scores
from multitudes.scores import GlobalThreshold
from multitudes.seq2set import OTSeq2Set
from multitudes.types import Predictions

AVERAGES = ("micro", "macro", "weighted", "example")
CANDIDATES = 30  # labels of an instance that a threshold chooses from


def train_and_measure(model: OTSeq2Set, problem: Problem, *, look_at_test: bool) -> dict[str, Any]:
    """Fit on nine tenths of the training split, keep the epoch that is best on the last tenth."""
    train, validation = problem.split()
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    model.fit(train.train, train.Y, label_texts=problem.label_texts, validation=validation)
    best = model.history_.best
    texts, Y = validation
    thresholds = {
        way: GlobalThreshold().fit(ranked(model, texts, way), Y) for way in ("best", "any")
    }
    return {
        "seconds": round(time.perf_counter() - start, 1),
        **speed(model),
        "scheme": model.scheme_.scheme if model.objective == "set" else None,
        "n_steps": model.n_steps_,
        "words_found": model.n_words_found_,
        "labels_found": model.n_labels_found_,
        "best_epoch": best.epoch + 1,
        "validation": metrics(model, texts, Y, thresholds),
        "test": metrics(model, problem.test, problem.Y_test, thresholds) if look_at_test else None,
        "curve": [{"epoch": e.epoch + 1, **e.terms, **e.metrics} for e in model.history_.epochs],
    }


def metrics(
    model: OTSeq2Set, texts: list[str], Y: Any, thresholds: Mapping[str, GlobalThreshold]
) -> dict[str, float]:
    """Precision, recall and F1 of sets by each average, and P@k of ranks, in percent.

    Beside the sets as generated, those that a threshold makes of labels ranked by their best step,
    and by any step.
    """
    start = time.perf_counter()
    sets = model.predict_sets(texts)
    seconds = time.perf_counter() - start
    found: dict[str, float] = {"texts_per_second": round(len(texts) / seconds)}
    for average in AVERAGES:
        scores = set_scores(sets, Y, average=average, over="all")
        for part in ("precision", "recall", "f1"):
            found[f"{average}_{part}"] = round(100 * getattr(scores, part), 2)
    found["mean_size"] = round(float((sets.labels >= 0).sum() / len(texts)), 2)
    for way, threshold in thresholds.items():
        labels = ranked(model, texts, way)
        f1 = set_scores(threshold.apply(labels), Y).f1
        found[f"threshold_{way}_micro_f1"] = round(100 * f1, 2)
        ranks = evaluate(labels, Y, ks=(1, 3, 5))
        at = "" if way == "best" else f", {way} step"
        found |= {f"P@{k}{at}": round(100 * ranks[f"P@{k}"], 2) for k in (1, 3, 5)}
    return found


def ranked(model: OTSeq2Set, texts: list[str], way: str) -> Predictions:
    """The labels of texts by their best step, or by any."""
    model.decoding = replace(model.decoding, rank_by=way)
    return model.predict(texts, top_k=CANDIDATES)


def speed(model: OTSeq2Set) -> dict[str, float]:
    """Seconds of an epoch and instances a second; the first epoch warms up."""
    epochs = model.history_.epochs
    steady = epochs[1:] or epochs
    found = {
        "epoch_seconds": round(sum(e.seconds for e in steady) / len(steady), 2),
        "best_epoch_seconds": round(min(e.seconds for e in steady), 2),
        "first_epoch_seconds": round(epochs[0].seconds, 2),
        "instances_per_second": round(max(e.instances_per_second for e in steady)),
    }
    if torch.cuda.is_available():
        found["peak_gb"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
    return found
