"""Does it help to stem words, to join pairs, to cut words up? ``python -m benchmarks.word_forms``.

XR-Linear with overlap 2 over features by name, trained on the training data without its validation
part and measured on that part; ``--instances`` takes a random part of both. Differences are to the
first of ``--features``, over the same texts, with the p-value of a paired test in brackets. Seconds
are CPU seconds; those of the training are without the stemming, which is remembered.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import finish, rows_of, show
from multitudes.data import Dataset, ReadOptions, read_dataset, split
from multitudes.errors import MultitudesError
from multitudes.types import Predictions

FEATURES = ("tfidf", "stems", "words-bigrams", "stems-bigrams", "subwords", "stems-subwords")
VALIDATION = 0.1
METRICS = ("P@1", "nDCG@5", "R@20")
COLUMNS = (*METRICS, "P@1 +", "nDCG@5 +", "features, s", "training, s", "terms")


def parts(source: Path, n_instances: int) -> tuple[Dataset, Dataset]:
    """Training part and validation part of (some of) the training data."""
    training = read_dataset(source, options=ReadOptions(split="trn"))
    if n_instances < len(training):
        training = split(training, test_size=n_instances, random_state=1)[1]
    return split(training, test_size=VALIDATION, random_state=0)


def trial(training: Dataset, texts: Sequence[str], features: str) -> tuple[Predictions, Any]:
    """Train over one kind of features; returns predictions and costs."""
    from multitudes.tagger import Tagger
    from multitudes.tagger.presets import named_features

    named_features(features).fit(training.texts[:10])  # compiled code is loaded
    start = time.process_time()
    named_features(features).fit(training.texts)
    making = time.process_time() - start
    start = time.process_time()
    tagger = Tagger("xr-linear", features=features, settings={"overlap": 2}).fit(training)
    costs = {"features_cpu_s": making, "train_cpu_s": time.process_time() - start}
    costs["n_features"] = tagger.features_.n_features_
    return tagger.predict_ids(texts, top_k=20), costs


def measure(source: Path, given: Any) -> dict[str, Any]:
    """All kinds of features on one data set."""
    from multitudes.metrics import Resampling, compare, evaluate

    training, held_out = parts(source, given.instances)
    found: dict[str, Any] = {}
    first = None
    for name in given.features:
        ours, costs = trial(training, held_out.texts, name)
        report = evaluate(ours, held_out.Y, ks=(1, 5, 20))
        found[name] = {key: 100 * report[key] for key in METRICS} | costs
        first = ours if first is None else first
        apart = compare(ours, first, held_out.Y, ks=(1, 5), resampling=Resampling(2000))
        for metric in ("P@1", "nDCG@5"):
            one = apart[metric]
            found[name][f"{metric} gain"] = 100 * one.difference
            found[name][f"{metric} p"] = one.p_value
        print(name, found[name], file=sys.stderr)
    return {"n_training": len(training), "n_validation": len(held_out), "features": found}


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.word_forms",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="folders with texts")
    parser.add_argument("--features", nargs="+", default=list(FEATURES), help="features by name")
    parser.add_argument("--instances", type=int, default=22_000, help="of each set, at most")
    parser.add_argument("--record", default="word_forms", help="name of the stored record")
    parser.add_argument("--no-store", action="store_true", help="only print")
    return parser.parse_args(given)


def row(name: str, one: dict[str, Any]) -> tuple[str, ...]:
    """The line of one kind of features."""
    gains = [f"{one[f'{key} gain']:+.2f} ({one[f'{key} p']:.3f})" for key in ("P@1", "nDCG@5")]
    costs = (f"{one['features_cpu_s']:.1f}", f"{one['train_cpu_s']:.1f}", f"{one['n_features']:,}")
    return (name, *(f"{one[key]:.2f}" for key in METRICS), *gains, *costs)


def main() -> None:
    given = arguments()
    sets: dict[str, Any] = {}
    try:
        for source in given.data:
            sets[source.name] = found = measure(source, given)
            lines = [row(name, one) for name, one in found["features"].items()]
            show(source.name, ("", *COLUMNS), lines)
    except MultitudesError as error:
        sys.exit(str(error))
    sections = {name: {**one, "features": {}, **one["features"]} for name, one in sets.items()}
    finish(given.record, rows_of(sections), store=not given.no_store)


if __name__ == "__main__":
    main()
