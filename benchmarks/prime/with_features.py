"""XR-Linear over TF-IDF, with and without the embeddings of a trained encoder.

    python -m benchmarks.prime.with_features --data ../shared/data/lf-msdocs-links --encoder FOLDER

FOLDER is what ``python -m benchmarks.prime --save`` wrote, in parts or whole; without it there is
XR-Linear over TF-IDF alone. Runs on a CPU. Settings are the defaults: nothing is tuned here, and
the test split is looked at once.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.prime.contestants import XR_LINEAR_OVER
from benchmarks.prime.problem import whole_folder
from benchmarks.report import rows_of, show
from benchmarks.report.storing import checksum, record_of, written
from multitudes import progress
from multitudes.data import Dataset, ReadOptions, read_dataset
from multitudes.deep.devices import fastest_precision
from multitudes.encoder.backbone.loading import load_backbone
from multitudes.encoder.backbone.model import BackboneConfig
from multitudes.features import TfidfFeatures
from multitudes.linear import XRLinear
from multitudes.metrics import evaluate, inverse_propensity
from multitudes.scores import remove_pairs

KS = (1, 3, 5)
DEEPEST = 100
NAMES = [f"{kind}@{k}" for kind in ("P", "PSP") for k in KS] + [f"R@{DEEPEST}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--weight", type=float, default=1.0, help="of the embeddings")
    parser.add_argument("--max-length", type=int, default=32)
    parser.add_argument(
        "--first", type=int, help="use only the first N instances, for a quick look"
    )
    parser.add_argument("--out", type=Path, default=Path("tmp/prime"))
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    with progress.shown(given.verbose):
        train = read_dataset(given.data, options=ReadOptions(split="trn"))
        test = read_dataset(given.data, labels=train, options=ReadOptions(split="tst"))
        if given.first:
            train, test = train[: given.first], test[: given.first]
        runs = compare(train, test, given)
    rows = [[name, *(f"{run[n]:.2f}" for n in NAMES)] for name, run in runs.items()]
    show(given.data.name, ["XR-Linear over", *NAMES], rows)
    settings = {"weight": given.weight, "max_length": given.max_length, "first": given.first}
    name, data = f"prime-{given.data.name}-features", {given.data.name: checksum(given.data)}
    record = record_of(name, rows_of(runs), data=data, settings=settings)
    written(record, given.out / f"{name}.json")
    print(json.dumps({f"{XR_LINEAR_OVER[name]}_p1": run["P@1"] for name, run in runs.items()}))


def compare(train: Dataset, test: Dataset, given: argparse.Namespace) -> dict[str, Any]:
    """Train on words, on embeddings, and on both side by side."""
    words = TfidfFeatures().fit(train.texts)
    kinds: dict[str, Any] = {"TF-IDF": [words.transform(part.texts) for part in (train, test)]}
    if given.encoder is not None:
        dense = embeddings(train, test, given)
        kinds["embeddings"] = [sp.csr_array(part) for part in dense]
        kinds["both"] = [
            sp.hstack([one, sp.csr_array(given.weight * other)], format="csr")
            for one, other in zip(kinds["TF-IDF"], dense, strict=True)
        ]
    return {name: one_run(*X, train, test) for name, X in kinds.items()}


def embeddings(train: Dataset, test: Dataset, given: argparse.Namespace) -> list[np.ndarray]:
    """Of both splits' texts, by the trained encoder."""
    with tempfile.TemporaryDirectory() as folder:
        whole = whole_folder(given.encoder, Path(folder) / "encoder")
        backbone = load_backbone(BackboneConfig(name=str(whole), max_length=given.max_length))
    fast = backbone.frozen(fastest_precision(backbone.device))
    return [fast.encode(part.texts, batch_size=64, progress="Embedding") for part in (train, test)]


def one_run(X: Any, X_test: Any, train: Dataset, test: Dataset) -> dict[str, float]:
    start = time.perf_counter()
    model = XRLinear().fit(X, train.Y)
    seconds = time.perf_counter() - start
    pairs = np.zeros((0, 2), np.int64) if test.filter_pairs is None else test.filter_pairs
    pairs = pairs[pairs[:, 0] < len(test)]
    spare = int(np.bincount(pairs[:, 0]).max()) if len(pairs) else 0
    found = remove_pairs(model.predict(X_test, top_k=DEEPEST + spare), pairs, top_k=DEEPEST)
    weights = inverse_propensity(train.Y)
    report = evaluate(found, test.Y, ks=(*KS, DEEPEST), inverse_propensity=weights)
    return {
        "train_seconds": round(seconds, 1),
        **{name: round(100 * report[name], 2) for name in NAMES},
    }


if __name__ == "__main__":
    main()
