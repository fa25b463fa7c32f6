"""What does a choice gain, and cost? ``python -m benchmarks.choices --data DIR``.

The models among which "auto" chooses, or features by name (``--features``), as a user would train
them: a `Tagger` over texts. Each is trained in a process of its own, on the training data without
its validation part, and measured on that part; with ``--test`` on all training data, and on the
test data.

- ``p1``, ``p3``, ``p5``: precision, in percent, means over seeds;
- ``train_s``, ``train_cpu_s``: of ``fit``, features included, after a warm-up that loads compiled
  code; medians over seeds;
- ``peak_mb``: what the process grew by while it was training;
- ``model_mb``: the folder on disk;
- ``latency_ms``: one text at a time, median over texts.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import ROOT
from benchmarks.report import Rounds, finish, rows_of, show_rows, together
from benchmarks.trees.contestants.process import folder_bytes, peak_mb, resident_mb
from multitudes.data import Dataset, ReadOptions, read_dataset, split
from multitudes.errors import MultitudesError

MODELS = {
    "one-vs-all": ("one-vs-all", {}),
    "xr-linear": ("xr-linear", {}),
    "xr-linear, overlap 2": ("xr-linear", {"overlap": 2}),
    "parabel": ("parabel", {}),
}
KS = (1, 3, 5)
VALIDATION = 0.1
WARM_UP = 500
LATENCY_TEXTS = 300
COLUMNS = ("p1", "p3", "p5", "train_s", "train_cpu_s", "peak_mb", "model_mb", "latency_ms")


def parts(source: Path, *, test: bool) -> tuple[Dataset, Dataset]:
    """Training data and what is measured on."""
    training = read_dataset(source, options=ReadOptions(split="trn"))
    if test:
        return training, read_dataset(source, labels=training, options=ReadOptions(split="tst"))
    return split(training, test_size=VALIDATION, random_state=0)


def trial(source: Path, model: str, features: str | None, *, test: bool, seed: int) -> None:
    """Train and measure one candidate, and print the numbers."""
    from multitudes.metrics import precision_at_k
    from multitudes.tagger import Tagger

    training, held_out = parts(source, test=test)
    name, settings = MODELS[model]

    def fitted(dataset: Dataset) -> Tagger:
        tagger = Tagger(name, features=features, settings=settings, random_state=seed, n_jobs=2)
        return tagger.fit(dataset)

    fitted(split(training, test_size=WARM_UP, random_state=0)[1])
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what was freed would be used again, unnoticed
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from now
    before, wall, cpu = resident_mb(), time.perf_counter(), time.process_time()
    tagger = fitted(training)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    grown = peak_mb() - before
    found = tagger.predict_ids(held_out.texts, top_k=max(KS))
    precision = {f"P@{k}": 100 * precision_at_k(found, held_out.Y, k=k) for k in KS}
    result: dict[str, Any] = {"precision": precision}
    result |= {"train_s": wall, "train_cpu_s": cpu, "peak_mb": grown}
    with tempfile.TemporaryDirectory() as folder:
        tagger.save(Path(folder) / "model")
        result["model_mb"] = folder_bytes(folder) / 2**20
    result["latency_ms"] = 1000 * statistics.median(latencies(tagger, held_out.texts))
    print(json.dumps(result))


def latencies(tagger: Any, texts: Sequence[str]) -> list[float]:
    """Seconds of each of some texts, one at a time."""
    seconds = []
    for text in texts[:LATENCY_TEXTS]:
        start = time.perf_counter()
        tagger.predict([text], top_k=max(KS))
        seconds.append(time.perf_counter() - start)
    return seconds


def measure(source: Path, candidate: tuple[str, str | None], given: Any) -> dict[str, Any]:
    """One candidate, each seed in a process of its own."""
    model, features = candidate
    found = []
    for seed in range(given.seeds):
        order = ["--trial", json.dumps([str(source), model, features, given.test, seed])]
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.choices", *order],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            sys.exit(done.stderr)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    precision = [one.pop("precision") for one in found]
    return {**together(found, Rounds), **together(precision)}


def candidates(given: Any) -> list[tuple[str, str | None]]:
    """What is compared: models over their default features, or features under one model."""
    if given.features:
        return [(given.models[0], name) for name in given.features]
    return [(name, None) for name in given.models]


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.choices",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, nargs="+", default=[], help="data folders with texts")
    parser.add_argument("--models", nargs="+", choices=[*MODELS], default=[*MODELS][:3])
    parser.add_argument("--features", nargs="+", default=[], help="features by name")
    parser.add_argument("--test", action="store_true", help="measure on the test data")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--record", default="choices", help="name of the stored record")
    parser.add_argument("--no-store", action="store_true", help="only print")
    parser.add_argument("--trial", type=json.loads, help=argparse.SUPPRESS)
    return parser.parse_args(given)


def main() -> None:
    given = arguments()
    if given.trial:
        source, model, features, test, seed = given.trial
        trial(Path(source), model, features, test=test, seed=seed)
        return
    sets: dict[str, Any] = {}
    try:
        for source in given.data:
            found = {(f or m): measure(source, (m, f), given) for m, f in candidates(given)}
            sets[source.name] = found
            show_rows(source.name, rows_of(found))
    except MultitudesError as error:
        sys.exit(str(error))
    measured_on = "test" if given.test else f"validation, {VALIDATION:.0%} of the training data"
    settings = {"measured_on": measured_on, "seeds": given.seeds}
    finish(given.record, rows_of(sets), settings=settings, store=not given.no_store)


if __name__ == "__main__":
    main()
