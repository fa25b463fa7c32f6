"""How much memory do hundreds of thousands of labels take? ``python -m benchmarks.seq2set.large``.

Made-up texts and labels with the sizes of Amazon-670K (Tables 1 and 2 of the paper): 670,091 labels
of which a text has 5.45 on average and 7 at most, 247 words, label vectors of 100 dimensions, a
bottleneck of 512, batches of 64. Nothing can be learned from them; what is measured is the peak of
the device's memory, and the time of a batch, of one epoch after the first.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from benchmarks.report import finish, rows_of
from multitudes.seq2set import (
    BatchConfig,
    NetworkConfig,
    OTSeq2Set,
    Seq2SetTraining,
    SetLossConfig,
    WordsConfig,
)

COUNTS = {3: 0.2, 4: 0.1, 5: 0.1, 6: 0.15, 7: 0.45}  # labels of a text: 5.55 on average


def main() -> None:
    given = parse()
    results = {
        f"transport_weight={weight:g}": measured(given, weight) for weight in given.transport
    }
    finish("seq2set-large", rows_of(results), settings=vars(given), store=given.store)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--labels", type=int, default=670_091)
    parser.add_argument("--words", type=int, default=135_909)
    parser.add_argument("--length", type=int, default=247)
    parser.add_argument("--instances", type=int, default=2_560)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--bottleneck", type=int, default=512)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--compile", choices=("off", "on", "graphs"), default="off")
    parser.add_argument("--transport", type=float, nargs="+", default=[0.0, 8.0])
    parser.add_argument("--store", action="store_true", help="in benchmarks/results")
    return parser.parse_args(arguments)


def measured(given: argparse.Namespace, transport_weight: float) -> dict[str, Any]:
    """Train for two epochs and predict; the second epoch is timed."""
    texts, Y = made_up(given)
    model = OTSeq2Set(
        words=WordsConfig(dim=100, max_length=given.length, label_embeddings="random"),
        network=NetworkConfig(
            hidden=given.hidden, bottleneck=given.bottleneck, compile=given.compile
        ),
        loss=SetLossConfig(scheme="all", transport_weight=transport_weight),
        batches=BatchConfig(batch_size=given.batch_size, predict_batch_size=given.batch_size),
        training=Seq2SetTraining(
            epochs=2, weight_decay=0.0, clip=8.0, precision=given.precision, warmup_steps=0
        ),
    )
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    epoch = model.fit(texts, Y).history_.epochs[-1]
    found = {
        "weights": sum(p.numel() for p in model.network_.parameters()),
        "seconds_per_batch": round(epoch.seconds / epoch.n_batches, 4),
        "instances_per_second": round(epoch.instances_per_second),
        "train_peak_gb": peak() if on_gpu else None,
    }
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    model.predict_sets(texts[: 4 * given.batch_size])
    return found | {"predict_peak_gb": peak() if on_gpu else None}


def made_up(given: argparse.Namespace) -> tuple[list[str], Any]:
    rng = np.random.default_rng(0)
    n = given.instances
    ids = rng.integers(given.words, size=(n, given.length))
    texts = [" ".join(f"w{i}" for i in row) for row in ids.tolist()]
    counts = rng.choice(list(COUNTS), n, p=list(COUNTS.values()))
    counts[0] = max(COUNTS)
    rows = np.repeat(np.arange(n), counts)
    labels = rng.integers(given.labels, size=len(rows))
    ones = np.ones(len(rows), np.float32)
    return texts, sp.csr_array((ones, (rows, labels)), shape=(n, given.labels))


def peak() -> float:
    return round(torch.cuda.max_memory_allocated() / 2**30, 2)


if __name__ == "__main__":
    main()
