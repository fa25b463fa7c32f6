"""How fast is a label set generated on a CPU? ``python -m benchmarks.seq2set.latency``.

Made-up texts and labels with the sizes of eurlex-titles: 38 words, 4,047 labels, 16 steps; a
network of default width after one epoch, which makes all steps, as it would when trained. What the
steps take is the reading of weights, most of all the output layer's, which a bottleneck makes
narrower.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import torch

from benchmarks.report import finish, rows_of, show
from benchmarks.seq2set.large import made_up
from multitudes.seq2set import (
    BatchConfig,
    NetworkConfig,
    OTSeq2Set,
    Seq2SetTraining,
    WordsConfig,
)


def main() -> None:
    given = parse()
    found = {
        "default": measured(given, bottleneck=None),
        f"bottleneck={given.bottleneck}": measured(given, bottleneck=given.bottleneck),
    }
    columns = ("one text, ms", "texts a second, in batches")
    rows = [[name, *(str(value) for value in one.values())] for name, one in found.items()]
    show(f"label sets on {torch.get_num_threads()} cores", ["", *columns], rows)
    finish("seq2set-latency", rows_of(found), settings=vars(given), store=given.store)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--labels", type=int, default=4_047)
    parser.add_argument("--words", type=int, default=9_000)
    parser.add_argument("--length", type=int, default=38)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--instances", type=int, default=256)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--bottleneck", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--store", action="store_true", help="in benchmarks/results")
    return parser.parse_args(arguments)


def measured(given: argparse.Namespace, bottleneck: int | None) -> dict[str, Any]:
    """Train for one epoch, then generate for one text at a time, and for all at once."""
    texts, Y = made_up(given)
    model = OTSeq2Set(
        words=WordsConfig(dim=100, max_length=given.length, label_embeddings="random"),
        network=NetworkConfig(hidden=given.hidden, n_steps=given.steps, bottleneck=bottleneck),
        batches=BatchConfig(batch_size=64),
        training=Seq2SetTraining(epochs=1, device="cpu"),
    ).fit(texts, Y)
    model.predict_sets(texts[:1])
    singles = [seconds(model, texts[i % len(texts)]) for i in range(given.rounds)]
    start = time.perf_counter()
    model.predict_sets(texts)
    return {
        "p50_ms": round(1e3 * float(np.median(singles)), 1),
        "texts_per_second": round(len(texts) / (time.perf_counter() - start)),
    }


def seconds(model: OTSeq2Set, text: str) -> float:
    start = time.perf_counter()
    model.predict_sets([text])
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
