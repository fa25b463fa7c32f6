"""How fast does a text become an embedding on a CPU? In batches, and one at a time.

MiniLM-L6, texts of 32 tokens, tokenizing included; "Prime" goes on to the five nearest of
some thousand labels. The ways take turns, round by round, in one process. On a busy machine the
best round and the CPU time say more than the median.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.report import Rounds, finish, rows_of, show_rows

WORDS = [
    "council",
    "regulation",
    "market",
    "fish",
    "import",
    "duties",
    "license",
    "export",
    "state",
    "member",
    "aid",
]
TITLE = "council regulation on the common market in fish"
SINGLES = 20
Encode = Callable[[list[str]], Any]


@dataclass
class Way:
    """One way to encode, and what its rounds took."""

    encode: Encode
    batch_seconds: list[float] = field(default_factory=list)
    batch_cpu_seconds: list[float] = field(default_factory=list)
    single_ms: list[float] = field(default_factory=list)
    single_cpu_ms: list[float] = field(default_factory=list)

    def run(self, texts: list[str]) -> None:
        """One round: all texts at once, then some single ones."""
        start, cpu_start = time.perf_counter(), time.process_time()
        self.encode(texts)
        self.batch_cpu_seconds.append(time.process_time() - cpu_start)
        self.batch_seconds.append(time.perf_counter() - start)
        latencies, cpu_start = [], time.process_time()
        for _ in range(SINGLES):
            start = time.perf_counter()
            self.encode([TITLE])
            latencies.append(1e3 * (time.perf_counter() - start))
        self.single_cpu_ms.append(1e3 * (time.process_time() - cpu_start) / SINGLES)
        self.single_ms.append(statistics.median(latencies))

    def result(self, n_texts: int, n_jobs: int) -> dict[str, Rounds]:
        """Texts a second, by the clock and by CPU time, and the p50 of single texts."""
        return {
            "texts_per_second": Rounds([n_texts / s for s in self.batch_seconds]),
            "texts_per_second_by_cpu": Rounds(
                [n_jobs * n_texts / s for s in self.batch_cpu_seconds]
            ),
            "single_ms": Rounds(self.single_ms),
            "single_cpu_ms": Rounds(self.single_cpu_ms),
        }


def ways(n_labels: int) -> dict[str, Way]:
    """Ours in both precisions, Prime's prediction, and the library the encoder comes from."""
    from sentence_transformers import SentenceTransformer

    from multitudes.encoder.backbone.embedding import PredictionEncoder
    from multitudes.encoder.backbone.loading import load_backbone, minilm_folder
    from multitudes.encoder.backbone.model import BackboneConfig

    backbone = load_backbone(BackboneConfig(name="minilm", max_length=32))
    exact, fast = backbone.frozen("float32"), backbone.frozen("bf16")
    theirs = SentenceTransformer(str(minilm_folder()), device="cpu", local_files_only=True)
    theirs.max_seq_length = 32
    prime = prime_of(n_labels)
    int8 = PredictionEncoder(backbone, "int8")
    return {
        "Prime": Way(lambda texts: prime.predict(texts, top_k=5)),
        "int8": Way(lambda texts: int8(backbone.tokenize(texts).rows)),
        "bf16": Way(lambda texts: fast.encode(texts, batch_size=64)),
        "float32": Way(lambda texts: exact.encode(texts, batch_size=64)),
        "sentence-transformers": Way(lambda texts: theirs.encode(texts, batch_size=64)),
    }


def prime_of(n_labels: int) -> Any:
    """A Prime of this many labels, most with a random vector: as fast as a trained one."""
    import scipy.sparse as sp

    from multitudes.deep.training import TrainingConfig
    from multitudes.encoder.prime import Prime

    training = TrainingConfig(epochs=1, device="cpu")
    model = Prime(training=training)
    model.fit(["red", "blue", "green"], sp.eye_array(3).tocsr(), label_texts=["r", "b", "g"])
    vectors = np.random.default_rng(0).normal(size=(n_labels - 3, 384)).astype(np.float32)
    model.index_.add(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    return model


def texts_of_32_tokens(n: int) -> list[str]:
    """Texts a little longer than that; each is cut."""
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS, 34)) for _ in range(n)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--labels", type=int, default=20_000, help="of Prime")
    parser.add_argument("--no-store", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: waiting threads do not spin
    import torch

    torch.set_num_threads(options.threads)
    texts, contestants = texts_of_32_tokens(options.texts), ways(options.labels)
    for way in contestants.values():
        way.encode(texts[:64])  # warms up
    for _ in range(options.rounds):
        for way in contestants.values():
            way.run(texts)
    found: dict[str, dict[str, Any]] = {
        n: dict(way.result(len(texts), options.threads)) for n, way in contestants.items()
    }
    exact = contestants["float32"].encode(texts)
    for name in ("bf16", "int8"):
        nearness = (contestants[name].encode(texts) * exact).sum(1)
        found[name]["cosine_min"] = float(nearness.min())
    rows = rows_of(found)
    show_rows(f"MiniLM-L6 on {options.threads} threads, texts of 32 tokens", rows)
    finish("encoder_latency", rows, settings=vars(options), store=not options.no_store)


if __name__ == "__main__":
    main()
