"""Whether `auto` with a budget is at least as good as the best single model.

    python -m benchmarks.auto_budget --data ../shared/data/eurlex-titles --budget 60s

Each model and `auto` learn from the training split in a process of their own and rank the test
split, which is looked at once. A model that would take more than `--at-most` seconds on an idle
machine, by the estimates of `auto`, or is not done after three times that, is left out, and said to
be. The difference of `auto` to the best of the others is paired over the instances:
`low` and `high` are its interval of 95 %.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fusion.measures import Truth, per_instance
from benchmarks.machine import ROOT
from benchmarks.report import finish, rows_of, show
from multitudes.data import ReadOptions, read_dataset
from multitudes.scores import remove_pairs

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "xr-linear": ("xr-linear", {}),
    "xr-linear, overlap 2": ("xr-linear", {"overlap": 2}),
    "parabel": ("parabel", {}),
    "one-vs-all": ("one-vs-all", {}),
}
AUTO = "auto"
MEASURES = ("P@1", "nDCG@5")
RANKED = 20  # labels that are measured
IDLE_PACE = 0.6  # of two cores: see multitudes.tagger.costs
LATE = 3  # times its estimate, when a busy machine has not finished a model either
SPARE = 30  # labels of a text that may be filtered out


def main() -> None:
    given = parse()
    if given.trial:
        trial(**json.loads(given.trial))
        return
    sets = {source.name: compared(source, given) for source in given.data}
    settings = {"budget": given.budget, "at_most_s": given.at_most}
    finish(given.record, rows_of(sets), settings=settings, store=not given.no_store)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, nargs="+", default=[], help="data folders with texts")
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--at-most", type=float, default=600, help="seconds for each other model")
    parser.add_argument("--models", nargs="*", choices=[*MODELS], default=[*MODELS])
    parser.add_argument("--record", default="auto_budget")
    parser.add_argument("--no-store", action="store_true", help="keep no record")
    parser.add_argument("--trial", help=argparse.SUPPRESS)
    return parser.parse_args()


def compared(source: Path, given: argparse.Namespace) -> dict[str, Any]:
    """`auto` and the models on one data set."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in (AUTO, *given.models):
            found[name] = measured(source, name, Path(folder) / f"{name}.npz", given)
    done = {name: one for name, one in found.items() if "values" in one}
    best = max((name for name in done if name != AUTO), key=lambda name: _mean(done[name]))
    gains = {m: _paired(done[AUTO]["values"][m] - done[best]["values"][m]) for m in MEASURES}
    rows = [[name, *_row(one)] for name, one in found.items()]
    show(source.name, ["", *MEASURES, "seconds"], rows)
    print(json.dumps({"best": best, "gains": gains}), flush=True)
    for one in done.values():
        one |= {m: round(100 * float(one["values"][m].mean()), 2) for m in MEASURES}
        del one["values"]
    return {"models": found, "best_other": best, "auto_against_best": gains}


def measured(source: Path, name: str, path: Path, given: argparse.Namespace) -> dict[str, Any]:
    """What one model reaches, trained in a process of its own."""
    order = {"source": str(source), "name": name, "path": str(path), "budget": given.budget}
    limit = None
    if name != AUTO:
        limit = LATE * given.at_most
        seconds = estimate(source, name)
        if seconds > given.at_most:
            return {"would_take_s": round(seconds)}
    command = [sys.executable, "-m", "benchmarks.auto_budget", "--trial", json.dumps(order)]
    try:
        done = subprocess.run(command, cwd=ROOT, timeout=limit, check=True, stdout=subprocess.PIPE)
    except subprocess.TimeoutExpired:
        return {"would_take_s": limit}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    with np.load(path) as arrays:
        return result | {"values": {m: arrays[m] for m in MEASURES}}


def estimate(source: Path, name: str) -> float:
    """The seconds that training takes, as `auto` would estimate them for an idle machine."""
    from multitudes.tagger.costs.candidates import Candidate
    from multitudes.tagger.costs.estimates import Costs
    from multitudes.tagger.costs.facts import Facts

    model, settings = MODELS[name]
    train = read_dataset(source, options=ReadOptions(split="trn"))
    candidate = Candidate(name, model, "tfidf", name, settings)
    return Costs(IDLE_PACE).fit(candidate, Facts.of(train, n_jobs=2, device="cpu"))


def trial(source: str, name: str, path: str, budget: str) -> None:
    """Train one model, rank the test split, and write the measures of each instance."""
    from multitudes import Tagger

    train = read_dataset(Path(source), options=ReadOptions(split="trn"))
    test = read_dataset(Path(source), labels=train, options=ReadOptions(split="tst"))
    if name == AUTO:
        tagger = Tagger(AUTO, budget=budget, random_state=0, n_jobs=2)
    else:
        model, settings = MODELS[name]
        tagger = Tagger(model, settings=settings, random_state=0, n_jobs=2)
    start = time.perf_counter()
    tagger.fit(train)
    seconds = time.perf_counter() - start
    found = tagger.predict_ids(test.texts, top_k=min(RANKED + SPARE, test.n_labels))
    if test.filter_pairs is not None:
        found = remove_pairs(found, test.filter_pairs)
    values = per_instance(found.top(RANKED), Truth(test.Y, np.diff(test.Y.indptr), ()))
    np.savez(path, **{m: values[m] for m in MEASURES})
    report = tagger.auto_report_
    said = [] if report is None else report.sentences()
    print(json.dumps({"train_s": round(seconds, 1), "said": said}))


def _mean(one: dict[str, Any]) -> float:
    return float(np.mean([one["values"][m].mean() for m in MEASURES]))


def _row(one: dict[str, Any]) -> list[str]:
    if "values" not in one:
        return ["", "", f"would take {one['would_take_s']:,}"]
    means = [f"{100 * float(one['values'][m].mean()):.2f}" for m in MEASURES]
    return [*means, f"{one['train_s']:.1f}"]


def _paired(difference: np.ndarray) -> dict[str, float]:
    """The mean of differences, in points, and its interval."""
    mean, error = 100 * difference.mean(), 100 * difference.std(ddof=1) / len(difference) ** 0.5
    return {
        "gain": round(float(mean), 2),
        "low": round(float(mean - 1.96 * error), 2),
        "high": round(float(mean + 1.96 * error), 2),
    }


if __name__ == "__main__":
    main()
