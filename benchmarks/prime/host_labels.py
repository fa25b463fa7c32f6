"""Millions of labels on one GPU: PRIME with what belongs to labels in the host's memory.

Run ``python -m benchmarks.prime.host_labels --labels 10000000``. Texts are random token ids, the
encoder is of MiniLM's size with random weights: what is measured is memory and speed, no precision.
First, at a size where both fit, training with ``label_memory="device"`` is compared with "host";
then the large one is trained with "host", its labels made into prototypes and searched.
"""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from benchmarks.report import finish, rows_of, show
from multitudes.deep.texts.tokens import TokenRows
from multitudes.deep.training import TrainingConfig
from multitudes.encoder.backbone.embedding import embed
from multitudes.encoder.backbone.loading import load_backbone
from multitudes.encoder.backbone.model import Backbone, BackboneConfig
from multitudes.encoder.fitting import PrimeConfig, TrainingTexts, fit_network, label_prototypes
from multitudes.encoder.losses.config import LossConfig
from multitudes.encoder.prototypes.network import PrototypeConfig
from multitudes.encoder.sampling import SamplerConfig
from multitudes.encoder.search.approximate import IndexConfig
from multitudes.encoder.search.index import PrototypeIndex

LABELS_EACH, QUERIES = 5, 1024
WORDS = [f"w{number}" for number in range(4000)]
# (name, settings) of what is compared where both fit.
COMPARED = {
    "device": {},
    "device, touched": {"free_updates": "touched"},
    "host": {"label_memory": "host"},
}


@dataclass(frozen=True)
class Size:
    """How large a problem is."""

    labels: int
    instances: int
    tokens: int
    label_tokens: int
    free_vectors: int


def random_rows(n: int, length: int, n_tokens: int, seed: int) -> TokenRows:
    """Texts of random tokens, all of one length."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(5, n_tokens, n * length, dtype=np.int32)
    return TokenRows(ids, np.arange(n + 1, dtype=np.int64) * length)


def make_texts(size: Size, n_tokens: int) -> TrainingTexts:
    """Instances with a few labels each, drawn at random."""
    rng = np.random.default_rng(0)
    columns = rng.integers(0, size.labels, size.instances * LABELS_EACH)
    indptr = np.arange(size.instances + 1) * LABELS_EACH
    shape = (size.instances, size.labels)
    Y = sp.csr_array((np.ones(len(columns), np.float32), columns, indptr), shape=shape)
    Y.sum_duplicates()
    Y.data[:] = 1
    return TrainingTexts(
        random_rows(size.instances, size.tokens, n_tokens, 1),
        random_rows(size.labels, size.label_tokens, n_tokens, 2),
        Y,
    )


def make_backbone(layers: int, dim: int) -> Backbone:
    """An encoder with random weights, by default of MiniLM's size."""
    config = BackboneConfig(
        name="scratch", scratch_layers=layers, scratch_dim=dim, max_length=64, label_max_length=32
    )
    return load_backbone(config, texts=[" ".join(WORDS)], random_state=0)


def peak_gb() -> dict[str, float]:
    """The most memory taken so far: by the process, and on the card since it was last reset."""
    found = {"host_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}
    if torch.cuda.is_available():
        found["card_gb"] = torch.cuda.max_memory_allocated() / 2**30
    return {name: round(value, 2) for name, value in found.items()}


class Clock:
    """Seconds and peak memory of each stage, printed as it ends."""

    def __init__(self) -> None:
        self.stages: dict[str, Any] = {}
        self.lap()

    def lap(self, name: str | None = None) -> None:
        """End a stage."""
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        if name is not None:
            self.stages[name] = {"seconds": round(time.perf_counter() - self.at, 1), **peak_gb()}
            print(f"  {name}: {self.stages[name]}", flush=True)
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        self.at = time.perf_counter()


def trained(size: Size, options: argparse.Namespace, changes: dict[str, Any]) -> dict[str, Any]:
    """Train and, for the large problem, predict; returns what it took."""
    clock = Clock()
    backbone = make_backbone(options.layers, options.dim)
    texts = make_texts(size, backbone.n_tokens)
    clock.lap("texts")
    config = PrimeConfig(
        PrototypeConfig(n_free_vectors=size.free_vectors, **changes),
        LossConfig(),
        SamplerConfig(batch_size=options.batch, clustered=False),
        TrainingConfig(epochs=options.epochs, log_every=20, device=options.device),
    )
    network, history = fit_network(texts, backbone, config)
    clock.lap("start and training")
    found: dict[str, Any] = {
        "instances_per_second": round(history.epochs[-1].instances_per_second),
        "training_seconds": round(sum(epoch.seconds for epoch in history.epochs), 1),
        "loss": round(history.epochs[-1].terms["loss"], 4),
    }
    if size.labels == options.labels:
        prototypes, _ = label_prototypes(network, texts.labels)
        clock.lap("prototypes")
        settings = IndexConfig(kind="flat", label_memory=config.prototypes.label_memory)
        index = PrototypeIndex(prototypes, settings)
        queries = embed(backbone, texts.instances.take(np.arange(QUERIES)), "embedding")
        labels = index.search(queries, top_k=10).labels
        clock.lap(f"search of {QUERIES} texts")
        found["found"] = int((labels >= 0).sum())
    return {**found, "stages": clock.stages}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=10_000_000)
    parser.add_argument("--free", type=int, default=1 << 22, help="free vectors, a power of two")
    parser.add_argument(
        "--compare-at", type=int, default=1_000_000, help="labels; 0: no comparison"
    )
    parser.add_argument("--compare-free", type=int, default=1 << 17, help="free vectors there")
    parser.add_argument("--instances", type=int, default=320_000)
    parser.add_argument("--batch", type=int, default=3200)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--label-tokens", type=int, default=8)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--store", action="store_true", help="keep the results")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    shape = (options.instances, options.tokens, options.label_tokens)
    if options.compare_at:
        size = Size(options.compare_at, *shape, options.compare_free)
        for name, changes in COMPARED.items():
            print(f"{size.labels:,} labels, {name}", flush=True)
            results[f"{name}, {size.labels}"] = {**asdict(size), **trained(size, options, changes)}
    if options.labels:
        size = Size(options.labels, *shape, options.free)
        print(f"{size.labels:,} labels, host", flush=True)
        run = trained(size, options, {"label_memory": "host"})
        results[f"host, {size.labels}"] = {**asdict(size), **run}
    rows = [[name, f"{run['instances_per_second']:,}"] for name, run in results.items()]
    show("training", ["", "instances a second"], rows)
    finish("prime-host-labels", rows_of(results), settings=vars(options), store=options.store)


if __name__ == "__main__":
    main()
