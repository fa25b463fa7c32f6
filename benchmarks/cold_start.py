"""What names of labels alone are worth: their words, what they mean to an encoder, and both.

    python -m benchmarks.cold_start --data DIR/eurlex-titles DIR/debian-debtags

Nothing is learned from texts; those of the training split, of which a sample is tagged, only
measure, so that the weights of the fusion can be chosen here.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import finish, rows_of, show
from multitudes import Lexical
from multitudes.data import ReadOptions, read_dataset
from multitudes.fusion import fuse_predictions
from multitudes.metrics import ndcg_at_k, precision_at_k, recall_at_k
from multitudes.models import model_spec
from multitudes.tagger.cold_start import ENCODER, WEIGHTS
from multitudes.types import Predictions

LISTED, MEASURED = 50, 20
TRIED = ((1, 1), (1, 2), (2, 1), (4, 1))
COLUMNS = ("P@1", "nDCG@5", "R@20")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--texts", type=int, default=2000, help="how many are tagged")
    parser.add_argument("--no-store", action="store_true", help="keep no record")
    given = parser.parse_args()
    sets = {source.name: measured(source, given.texts) for source in given.data}
    settings = {"n_texts": given.texts, "weights": WEIGHTS, "encoder": ENCODER}
    finish("cold_start", rows_of(sets), settings=settings, store=not given.no_store)


def measured(source: Path, n_texts: int) -> dict[str, Any]:
    """Words, encoder and fusions on one data set."""
    train = read_dataset(source, options=ReadOptions(split="trn"))
    rows = np.random.default_rng(0).permutation(len(train))[:n_texts]
    texts, Y = [(train.texts or [])[row] for row in rows], train.Y[rows]
    names = list(train.label_texts or train.label_names or ())
    words = Lexical().fit([], None, label_texts=names).predict(texts, top_k=LISTED)
    encoder = model_spec(ENCODER).make_model().fit([], None, label_texts=names)
    meaning = encoder.predict(texts, top_k=LISTED)
    found = {"words": words, "encoder": meaning}
    for weights in TRIED:
        name = f"words {weights[0]:g}, encoder {weights[1]:g}"
        found[name] = fuse_predictions([words, meaning], weights=list(weights), top_k=MEASURED)
    values = {name: scores(one, Y) for name, one in found.items()}
    rows_shown = [[name, *(f"{one[c]:.2f}" for c in COLUMNS)] for name, one in values.items()]
    show(source.name, ["", *COLUMNS], rows_shown)
    return values


def scores(found: Predictions, Y: Any) -> dict[str, float]:
    values = (precision_at_k(found, Y, k=1), ndcg_at_k(found, Y, k=5), recall_at_k(found, Y, k=20))
    return {name: round(100 * value, 2) for name, value in zip(COLUMNS, values, strict=True)}


if __name__ == "__main__":
    main()
