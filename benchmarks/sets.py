"""How good are label sets made from rankings? ``python -m benchmarks.sets --data DIR ...``.

XRLinear, by itself and under ``Disentangled`` (overlap 2), with default settings on word TF-IDF.
A tenth of the training instances, drawn at random, is kept from the models. On it scores are
calibrated (isotonic) and each rule is tuned, for micro-F1 and for example-based F1:

- fixed size: the best k labels of every instance, k from 1 to 30;
- threshold: all labels of at least one probability; "threshold, >= 1" takes the best label of
  every instance in any case;
- label-thresholds: a probability for each label, drawn towards the common one;
- expected-f1: the number of labels with the largest expected F1, after Ye et al. (2012).

Models are not trained again on the whole. The test split is looked at once; nothing is chosen on
it. Numbers are percentages. The reliability error (bins of equal mass) is that of the scores as
they are, and after each calibration, over the five best labels of each instance and over all 50
candidates. A folder without a ``tst`` file is tested on ``dev``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.report import finish, rows_of, show_rows
from multitudes.data import Dataset, ReadOptions, read_dataset, split
from multitudes.disentangle import Disentangled
from multitudes.errors import MultitudesError
from multitudes.features import TfidfFeatures
from multitudes.linear import XRLinear
from multitudes.metrics import set_scores
from multitudes.scores import (
    GlobalThreshold,
    IsotonicCalibration,
    TemperatureCalibration,
    reliability,
)
from multitudes.scores.calibrated import RULES
from multitudes.types import Predictions, Sparse

AVERAGES = ("micro", "macro", "example")
METRICS = ("micro", "example")
PARTS = ("precision", "recall", "f1")
SHOWN = ("size", *(f"{average}_f1" for average in AVERAGES), "listed", "top 5")
CALIBRATIONS = {
    "none": None,
    "isotonic": IsotonicCalibration,
    "temperature": TemperatureCalibration,
}
FIXED = "fixed size"
AT_LEAST_ONE = "threshold, >= 1"
TOP = 5
"""Ranks over which the reliability error of what is shown to people is taken."""


@dataclass(frozen=True)
class Plan:
    """What is run.

    Parameters
    ----------
    validation : float
        Share of the training instances that models do not see, and rules are tuned on.
    candidates : int
        Labels per instance that sets are made from.
    test_split : str
        The files to test on.
    seed, n_jobs : int
        The seed decides the validation part and the trees.
    """

    validation: float = 0.1
    candidates: int = 50
    test_split: str = "tst"
    random_state: int = 0
    n_jobs: int = 2


@dataclass(frozen=True)
class Scored:
    """Candidates of labeled instances."""

    predictions: Predictions
    truth: Sparse


def models(plan: Plan) -> dict[str, Callable[[], Any]]:
    """The rankers by name."""
    make = {"random_state": plan.random_state, "n_jobs": plan.n_jobs}
    return {
        "XRLinear": lambda: XRLinear(**make),
        "Disentangled": lambda: Disentangled(XRLinear(**make), overlap=2),
    }


def study(source: Path, plan: Plan) -> dict[str, Any]:
    """All models on one data set."""
    whole = read_dataset(source, options=ReadOptions(split="trn"))
    test = read_dataset(source, labels=whole, options=ReadOptions(split=plan.test_split))
    train, validation = split(whole, test_size=plan.validation, random_state=plan.random_state)
    tfidf = TfidfFeatures(n_jobs=plan.n_jobs)
    X = tfidf.fit_transform(texts(train))
    parts = [(tfidf.transform(texts(part)), part.Y) for part in (validation, test)]
    result: dict[str, Any] = {
        "instances": len(train),
        "validation": len(validation),
        "test": len(test),
        "labels": train.n_labels,
        "labels_per_test_instance": test.Y.nnz / len(test),
        "test_split": plan.test_split,
    }
    for name, make in models(plan).items():
        started = time.perf_counter()
        model = make().fit(X, train.Y)
        train_s = time.perf_counter() - started
        scored = [Scored(model.predict(some, top_k=plan.candidates), Y) for some, Y in parts]
        result[name] = {"train_s": train_s, **measured(*scored)}
    return result


def texts(dataset: Dataset) -> Any:
    """The texts; these data sets all have them."""
    assert dataset.texts is not None
    return dataset.texts


def measured(validation: Scored, test: Scored) -> dict[str, Any]:
    """Reliability and F1 on the test part; everything is learned on the validation part."""
    errors, rules = {}, {}
    for name, make in CALIBRATIONS.items():
        before, after = validation.predictions, test.predictions
        if make is not None:
            calibration = make().fit(before, validation.truth)
            before, after = calibration.apply(before), calibration.apply(after)
        errors[name] = {
            "listed": reliability(after, test.truth).error,
            f"top {TOP}": reliability(after.top(TOP), test.truth).error,
        }
        if name == "isotonic":
            for metric in METRICS:
                rules[f"tuned for {metric}"] = every_rule(
                    Scored(before, validation.truth), Scored(after, test.truth), metric
                )
    return {"reliability error": errors, **rules}


def every_rule(validation: Scored, test: Scored, metric: str) -> dict[str, Any]:
    """Scores of each rule, tuned for a metric."""
    k = best_size(validation, metric)
    found = {FIXED: {"size": k, **scores(test.predictions.top(k), test.truth)}}
    rules: dict[str, Any] = {**RULES, AT_LEAST_ONE: partial(GlobalThreshold, min_size=1)}
    for name, make in rules.items():
        started = time.perf_counter()
        rule = make(metric=metric).fit(validation.predictions, validation.truth)
        seconds = time.perf_counter() - started
        sets = rule.apply(test.predictions)
        size = float((sets.labels >= 0).sum(axis=1).mean())
        learned = {
            key.rstrip("_"): str(value) if value == float("inf") else value
            for key, value in vars(rule).items()
            if key.endswith("_") and isinstance(value, float)
        }
        found[name] = {
            "size": size, "tune_s": seconds, "learned": str(learned), **scores(sets, test.truth)
        }  # fmt: skip
    return found


def best_size(validation: Scored, metric: Any) -> int:
    """The fixed number of labels with the best F1."""
    sizes = range(1, min(31, validation.predictions.top_k + 1))
    return max(
        sizes,
        key=lambda k: set_scores(
            validation.predictions.top(k), validation.truth, average=metric
        ).f1,
    )  # fmt: skip


def scores(sets: Predictions, truth: Sparse) -> dict[str, Any]:
    """Precision, recall and F1 in percent, by average."""
    found: dict[str, Any] = {}
    for average in AVERAGES:
        of: Any = average
        values = set_scores(sets, truth, average=of, over="all")
        found |= {
            f"{average}_{name}": 100 * value for name, value in zip(PARTS, values, strict=True)
        }
    return found


def test_split(source: Path) -> str:
    """The files of a folder to test on."""
    return "tst" if any(source.glob("tst.*")) else "dev"


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sets",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    default = Plan()
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="data folders")
    parser.add_argument("--seed", type=int, default=default.random_state)
    parser.add_argument("--threads", type=int, default=default.n_jobs)
    parser.add_argument("--candidates", type=int, default=default.candidates)
    parser.add_argument("--no-store", action="store_true", help="only print")
    return parser.parse_args(given)


def main() -> None:
    given = arguments()
    results: dict[str, Any] = {}
    try:
        for source in given.data:
            plan = Plan(
                candidates=given.candidates,
                test_split=test_split(source),
                random_state=given.seed,
                n_jobs=given.threads,
            )
            results[source.name] = study(source, plan)
            rows = rows_of({source.name: results[source.name]})
            show_rows(f"{source.name} ({plan.test_split})", rows, SHOWN)
    except MultitudesError as error:
        sys.exit(str(error))
    settings = {"seed": given.seed, "n_threads": given.threads}
    finish("sets", rows_of(results), settings=settings, store=not given.no_store)


if __name__ == "__main__":
    main()
