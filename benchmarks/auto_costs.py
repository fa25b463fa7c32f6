"""What do members of "auto" cost? ``python -m benchmarks.auto_costs --data DIR ...``.

Measures, as CPU seconds, what `multitudes.tagger.costs.estimates` is made of: features per
character, rankers per instance and word, prediction, and the probe that scales them to another
machine. Each
constant is the geometric mean over data sets and sizes; ``ratios`` says how far single trainings
are from the estimate that the constants give (estimate over measured).

The constants belong into `SECONDS` and `PROBE_SECONDS`; a test compares them with the record.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import finish, rows_of, show
from multitudes.data import Dataset, ReadOptions, read_dataset, split
from multitudes.errors import MultitudesError
from multitudes.tagger.auto import probe
from multitudes.tagger.auto.training import Given, Trainer
from multitudes.tagger.costs.candidates import OVERLAP, Candidate
from multitudes.tagger.costs.estimates import SECONDS, kind_of, matched, trained, visited, width
from multitudes.tagger.costs.facts import Facts

SIZES = (4_000, 16_000)
MAX_PAIRS = 3e7  # instances times labels that one-vs-all is tried on
HELD_OUT = 1_000
PROBES = 7
MEMBERS = (
    Candidate("tree", "xr-linear", "tfidf", ""),
    Candidate("overlap", "xr-linear", "tfidf", "", OVERLAP),
    Candidate("bigrams", "xr-linear", "words-bigrams", "", OVERLAP),
    Candidate("subwords", "xr-linear", "subwords", "", OVERLAP),
    Candidate("binary trees", "parabel", "tfidf", ""),
    Candidate("every label", "one-vs-all", "tfidf", ""),
    Candidate("names", "lexical", None, ""),
)


def measure(dataset: Dataset, member: Candidate) -> dict[str, Any]:
    """CPU seconds per unit of each stage of a member."""
    part, held_out = split(dataset, test_size=min(HELD_OUT, len(dataset) // 5), random_state=0)
    facts = Facts.of(part, device="cpu")
    trainer, texts = Trainer(Given(n_jobs=2), part), held_out.texts
    row = {"n": len(part), "labels": facts.n_labels, "member": member.name}
    if member.features is None:
        started = time.process_time()
        trainer.train(member)
        fit = time.process_time() - started
        return row | {"fit_s": fit, "lexical": fit / matched(facts)}
    features = str(member.features)
    started = time.process_time()
    trainer._features(features)
    read = time.process_time() - started
    started = time.process_time()
    fitted = trainer.train(member)
    fit = time.process_time() - started
    X = fitted.read(texts)
    started = time.process_time()
    fitted.model.predict(X, top_k=50)
    predict = time.process_time() - started
    cells = len(part) * width(features, facts)
    asked = len(held_out) * width(features, facts)
    kind = kind_of(member)
    return row | {
        "fit_s": fit, "predict_s": predict, "features_s": read,
        features: read / (len(part) * facts.characters),
        kind: fit / (cells * trained(member, facts)),
        "predict": predict / (asked * visited(member, facts)),
    }  # fmt: skip


def constants(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The geometric mean of what was measured of each kind."""
    found = {name: [row[name] for row in rows if row.get(name)] for name in SECONDS}
    return {name: mean(values) for name, values in found.items() if values}


def mean(values: Sequence[float]) -> float:
    """The geometric mean, to two digits."""
    return float(f"{math.exp(sum(map(math.log, values)) / len(values)):.1e}")


def probe_seconds() -> float:
    """CPU seconds of the probe, the median of some."""
    X, Y = probe.problem()
    probe.train(X, Y, 2)
    seconds = []
    for _ in range(PROBES):
        started = time.process_time()
        probe.train(X, Y, 2)
        seconds.append(time.process_time() - started)
    return float(f"{sorted(seconds)[PROBES // 2]:.2g}")


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.auto_costs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="folders with texts")
    parser.add_argument(
        "--members", nargs="+", choices=[one.name for one in MEMBERS],
        default=[one.name for one in MEMBERS],
    )  # fmt: skip
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="instances")
    parser.add_argument("--record", default="auto_costs", help="name of the stored record")
    parser.add_argument("--no-store", action="store_true", help="only print")
    return parser.parse_args(given)


def main() -> None:
    given = arguments()
    rows = []
    try:
        for source in given.data:
            whole = read_dataset(source, options=ReadOptions(split="trn"))
            for size in given.sizes:
                if len(whole) <= size:
                    continue
                some = split(whole, test_size=size, random_state=0)[1]
                n_labels = len(set(some.Y.indices.tolist()))
                for member in [one for one in MEMBERS if one.name in given.members]:
                    if member.model == "one-vs-all" and size * n_labels > MAX_PAIRS:
                        continue
                    measure(some.take(np.arange(300)), member)  # loads what is compiled
                    rows.append({"data": source.name, **measure(some, member)})
                    print(rows[-1], flush=True)
    except MultitudesError as error:
        sys.exit(str(error))
    found = constants(rows)
    for row in rows:
        kind = next(kind_of(one) for one in MEMBERS if one.name == row["member"])
        row["ratio"] = found[kind] / row[kind]
    show("constants", ("", "CPU seconds per unit"), [(n, f"{v:.1e}") for n, v in found.items()])
    worst = max(max(row["ratio"], 1 / row["ratio"]) for row in rows)
    results = {
        "CPU seconds per unit": found,
        "all rows": {"probe_seconds": probe_seconds(), "worst_ratio": worst},
        **{f"{one['data']}, {one['n']} texts, {one['member']}": one for one in rows},
    }
    finish(given.record, rows_of(results), store=not given.no_store)


if __name__ == "__main__":
    main()
