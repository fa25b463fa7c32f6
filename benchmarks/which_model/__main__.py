"""Which model for which data? ``python -m benchmarks.which_model --data DIR ...``.

The linear models as ``multitudes train -m NAME`` makes them, word TF-IDF included, on the training
split of each folder, and their precision on its test split (filter pairs applied, one seed).
One-vs-all is left out where there are more than ``--most`` (instance, label) pairs.

CPU seconds are what a table can be made of on a busy machine; divide by the cores of an idle one.
``python -m benchmarks.which_model.tables`` puts the records into docs/which-model.md.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.report import finish, show
from multitudes.data import Dataset, ReadOptions, read_dataset
from multitudes.metrics import precision_at_k
from multitudes.scores import filter_pairs
from multitudes.tagger import Tagger
from multitudes.types import Predictions

KS = (1, 3, 5)
MODELS: dict[str, dict[str, Any]] = {
    "xr-linear": {},
    "xr-linear, overlap 2": {"overlap": 2},
    "parabel": {},
    "one-vs-all": {},
}
WARM_UP = 1_000
SPARE = 40
"""Labels predicted beyond the fifth, so that filter pairs can be left out."""


def measure(name: str, training: Dataset, test: Dataset, *, n_jobs: int) -> dict[str, Any]:
    """Train and test a model."""
    tagger = Tagger(name.partition(",")[0], settings=MODELS[name], n_jobs=n_jobs)
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    tagger.fit(training)
    result: dict[str, Any] = {
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
        "model_mb": megabytes(tagger),
    }
    wall, cpu = time.perf_counter(), time.process_time()
    found = tagger.predict_ids(test.texts, top_k=max(KS) + SPARE)
    result["ms_per_text"] = 1000 * (time.perf_counter() - wall) / len(test)
    result["cpu_ms_per_text"] = 1000 * (time.process_time() - cpu) / len(test)
    return {**result, "p": precision(found, test)}


def megabytes(tagger: Tagger) -> float:
    with tempfile.TemporaryDirectory() as folder:
        tagger.save(Path(folder) / "model")
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        return sum(path.stat().st_size for path in files) / 2**20


def precision(found: Predictions, test: Dataset) -> list[float]:
    truth = test.Y
    if test.filter_pairs is not None:
        found, truth = filter_pairs(found, truth, test.filter_pairs)
    return [100 * precision_at_k(found, truth, k=k) for k in KS]


def one_set(source: Path, *, most: int, n_jobs: int) -> dict[str, Any]:
    training = read_dataset(source, options=ReadOptions(split="trn"))
    test = read_dataset(source, labels=training, options=ReadOptions(split="tst"))
    few = training[:WARM_UP]
    result: dict[str, Any] = {
        "sizes": {
            "instances": len(training),
            "test_instances": len(test),
            "labels": training.n_labels,
        },
        "models": {},
    }
    for name in MODELS:
        if name == "one-vs-all" and len(training) * training.n_labels > most:
            continue
        measure(name, few, test[:WARM_UP], n_jobs=n_jobs)
        result["models"][name] = measure(name, training, test, n_jobs=n_jobs)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("--data", type=Path, nargs="+", required=True, metavar="DIR")
    parser.add_argument("--most", type=int, default=100_000_000, help="pairs of one-vs-all")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-store", action="store_true")
    given = parser.parse_args()
    results: dict[str, Any] = {"n_threads": given.threads, "most": given.most, "sets": {}}
    for source in given.data:
        found = one_set(source, most=given.most, n_jobs=given.threads)
        results["sets"][source.name] = found
        rows = [
            (
                name,
                *(f"{value:.2f}" for value in one["p"]),
                f"{one['cpu_seconds']:.1f}",
                f"{one['model_mb']:.1f}",
                f"{one['cpu_ms_per_text']:.3f}",
            )
            for name, one in found["models"].items()
        ]
        columns = ("", "P@1", "P@3", "P@5", "CPU s", "MB", "CPU ms a text")
        show(source.name, columns, rows)
    finish("which-model", results, store=not given.no_store)


if __name__ == "__main__":
    main()
