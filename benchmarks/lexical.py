"""How good are labels found by their names? ``python -m benchmarks.lexical --data DIR``.

`Lexical` with names alone (cold) and with labeled texts (learned), measured on a validation part of
the training data; ``--instances`` takes a random part of both. ``--constants`` prints the weights
that are learned from all sets together without what only labeled texts tell: rounded, they are the
constants of a cold start. ``--scale`` measures speed and memory with a million made-up names.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import finish, rows_of, show
from benchmarks.trees.contestants.process import peak_mb, resident_mb
from benchmarks.word_forms import METRICS, parts
from multitudes.errors import MultitudesError

COLUMNS = (*METRICS, "labels found", "fit, s", "1000 texts, s")
SAMPLE = 4_000  # texts of each set from which constants are learned
N_MEASURED = -3  # the last pieces of evidence come from labeled texts


def label_names(source: Path) -> list[list[str]]:
    """All names of each label."""
    with lzma.open(source / "lbl.jsonl.xz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    return [[row[key] for key in ("title", "title_en") if row.get(key)] for row in rows]


def measure(source: Path, given: Any) -> dict[str, Any]:
    """Names alone, and with labeled texts."""
    from multitudes.lexical import Lexical
    from multitudes.metrics import evaluate

    training, held_out = parts(source, given.instances)
    names = label_names(source)
    found = {}
    for kind in ("cold", "learned"):
        learns = (training.texts, training.Y) if kind == "learned" else ()
        start = time.process_time()
        model = Lexical(min_coverage=given.coverage, compounds=given.compounds).fit(
            *learns, label_texts=names
        )
        fitting = time.process_time() - start
        model.predict(held_out.texts[:2])
        start = time.process_time()
        best = model.predict(held_out.texts, top_k=20)
        predicting = 1000 * (time.process_time() - start) / len(held_out)
        report = evaluate(best, held_out.Y, ks=(1, 5, 20))
        found[kind] = {key: 100 * report[key] for key in METRICS} | {
            "n_found": float((best.labels >= 0).sum(axis=1).mean()),
            "fit_cpu_s": fitting,
            "cpu_s_per_1000": predicting,
            "languages": model.index_.languages,
        }
        print(kind, found[kind], file=sys.stderr)
    return {"n_training": len(training), "n_validation": len(held_out), **found}


def constants(sources: Sequence[Path], given: Any) -> dict[str, float]:
    """Weights of matches, from as many texts of each set, together."""
    from sklearn.linear_model import LogisticRegression

    from multitudes.lexical import EVIDENCE, LabelEvidence, Lexical, evidence_of
    from multitudes.lexical.lexical import Shard

    rows, truths = [], []
    for source in sources:
        training, _ = parts(source, given.instances)
        model = Lexical(min_coverage=given.coverage).fit(label_texts=label_names(source))
        some = training.take(np.arange(min(SAMPLE, len(training))))
        start = 0
        for n_texts, found in model._matcher(model.index_)(Shard(some.texts, 0)):
            Y = some.Y[start : start + n_texts]
            is_right = np.asarray(Y[found.rows, found.labels]).ravel() > 0
            nothing = LabelEvidence.none(model.n_labels_)
            rows.append(evidence_of(model.index_, found, nothing)[:, :N_MEASURED])
            truths.append(is_right)
            start += n_texts
    evidence, is_right = np.concatenate(rows).astype(float), np.concatenate(truths)
    mean, spread = evidence.mean(axis=0), evidence.std(axis=0)
    regression = LogisticRegression(max_iter=500)
    regression.fit((evidence - mean) / spread, is_right)
    weights = regression.coef_[0] / spread
    found = dict(zip(EVIDENCE, weights.tolist(), strict=False))
    return found | {"start": float(regression.intercept_[0] - weights @ mean)}


def scale(n_names: int) -> dict[str, float]:
    """Seconds and memory with many made-up names, and 100,000 texts of 12 words."""
    from multitudes.lexical import Lexical

    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghiklmnoprstuvz"))
    words = np.array(["".join(row) for row in letters[rng.integers(0, 21, (200_000, 7))]])
    rank = np.minimum(rng.zipf(1.2, (n_names, 3)) - 1, len(words) - 1)
    spread = (rank + rng.integers(0, len(words), (n_names, 3))) % len(words)
    names = [
        " ".join(words[row[:n]]) for row, n in zip(spread, rng.integers(1, 4, n_names), strict=True)
    ]
    texts = [
        f"the {names[i]} and {names[j]} of {' '.join(words[rng.integers(0, len(words), 6)])}"
        for i, j in rng.integers(0, n_names, (100_000, 2))
    ]
    Lexical().fit(label_texts=names[:100]).predict(texts[:10])
    before, start = resident_mb(), time.process_time()
    model = Lexical(language="english").fit(label_texts=names)
    model.index_.table, model.index_.homonyms  # noqa: B018  made at first use
    fitting, kept = time.process_time() - start, resident_mb() - before
    start, wall = time.process_time(), time.perf_counter()
    best = model.predict(texts, top_k=10)
    took = time.process_time() - start
    return {
        "fit_cpu_s": fitting, "index_mb": kept, "predict_cpu_s": took,
        "predict_s": time.perf_counter() - wall, "peak_mb": peak_mb() - before,
        "n_found": float((best.labels >= 0).sum(axis=1).mean()),
    }  # fmt: skip


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.lexical",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, nargs="+", default=[], help="folders with texts")
    parser.add_argument("--instances", type=int, default=22_000, help="of each set, at most")
    parser.add_argument("--coverage", type=float, default=0.3, help="min_coverage")
    parser.add_argument("--compounds", action="store_true", help="names inside words too")
    parser.add_argument("--constants", action="store_true", help="only learn constants")
    parser.add_argument("--scale", type=int, default=0, help="only measure speed, with N names")
    parser.add_argument("--record", default="lexical", help="name of the stored record")
    parser.add_argument("--no-store", action="store_true", help="only print")
    return parser.parse_args(given)


def main() -> None:
    given = arguments()
    if given.constants or given.scale:
        print(json.dumps(scale(given.scale) if given.scale else constants(given.data, given)))
        return
    sets: dict[str, Any] = {}
    try:
        for source in given.data:
            sets[source.name] = found = measure(source, given)
            keys = (*METRICS, "n_found", "fit_cpu_s", "cpu_s_per_1000")
            lines = [
                (kind, *(f"{found[kind][key]:.2f}" for key in keys)) for kind in ("cold", "learned")
            ]
            show(source.name, ("", *COLUMNS), lines)
    except MultitudesError as error:
        sys.exit(str(error))
    finish(given.record, rows_of(sets), store=not given.no_store)


if __name__ == "__main__":
    main()
