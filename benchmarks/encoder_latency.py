"""How fast does a text become an embedding on a CPU? In batches, and one at a time.

    python -m benchmarks.encoder_latency --data DIR/eurlex-titles DIR/llms4subjects-gnd

MiniLM-L6, texts of 32 tokens, tokenizing included; "Prime" goes on to the five nearest of
some thousand labels. The ways take turns, round by round, in one process. On a busy machine the
best round and the CPU time say more than the median. bf16 is among them where the processor has it.

With data, what the formats cost: texts of test instances, of up to 64 tokens, are embedded in each,
and the labels whose texts are nearest (embedded in float32, nothing is trained) are compared with
those in float32.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Rounds, finish, rows_of, show_rows
from multitudes.kernels.encoder.byte_products import instructions

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
    """Ours by precision, Prime's prediction, and the library the encoder comes from."""
    from sentence_transformers import SentenceTransformer

    from multitudes.encoder.backbone.loading import load_backbone, minilm_folder
    from multitudes.encoder.backbone.model import BackboneConfig

    backbone = load_backbone(BackboneConfig(name="minilm", max_length=32))
    theirs = SentenceTransformer(str(minilm_folder()), device="cpu", local_files_only=True)
    theirs.max_seq_length = 32
    prime = prime_of(n_labels)
    ours = {
        name: Way(lambda texts, encode=encode: encode(backbone.tokenize(texts).rows))
        for name, encode in encoders(backbone).items()
    }
    return {
        "Prime": Way(lambda texts: prime.predict(texts, top_k=5)),
        **ours,
        "sentence-transformers": Way(lambda texts: theirs.encode(texts, batch_size=64)),
    }


def encoders(backbone: Any) -> dict[str, Any]:
    """Encoders of token ids by precision, as models predict with them."""
    from multitudes.deep.devices import fastest_precision
    from multitudes.encoder.backbone.embedding import PredictionEncoder

    with_bf16 = fastest_precision(backbone.device) == "bf16"
    precisions = ["int8", "bf16", "float32"] if with_bf16 else ["int8", "float32"]
    return {name: PredictionEncoder(backbone, name) for name in precisions}


def costs(folder: Path, n_texts: int) -> dict[str, Any]:
    """By precision: cosines to float32, the same nearest label, and precision at 1 and 5."""
    from multitudes.data import ReadOptions, read_dataset
    from multitudes.encoder.backbone.loading import load_backbone
    from multitudes.encoder.backbone.model import BackboneConfig

    split = "tst" if (folder / "tst.jsonl.xz").exists() else "dev"
    data = read_dataset(folder, options=ReadOptions(split=split))
    chosen = np.random.default_rng(0).permutation(len(data.texts))[:n_texts]
    backbone = load_backbone(BackboneConfig(name="minilm", max_length=64))
    rows = backbone.tokenize([data.texts[i] for i in chosen]).rows
    by_precision = encoders(backbone)
    labels = by_precision["float32"](backbone.tokenize_labels(data.label_texts).rows)
    found = {name: encode(rows) for name, encode in by_precision.items()}
    nearest = {
        name: (vectors @ labels.T).argsort(axis=1)[:, :-6:-1] for name, vectors in found.items()
    }
    relevant = data.Y[chosen].astype(bool)
    results: dict[str, Any] = {"texts": len(chosen), "tokens": float(rows.lengths.mean())}
    for name, top in nearest.items():
        hits = np.take_along_axis(relevant.toarray(), top, axis=1)
        cosines = (found[name] * found["float32"]).sum(axis=1)
        results[name] = {
            "cosine_mean": float(cosines.mean()),
            "cosine_min": float(cosines.min()),
            "same_nearest": 100 * float((top[:, 0] == nearest["float32"][:, 0]).mean()),
            "P@1": 100 * float(hits[:, 0].mean()),
            "P@5": 100 * float(hits.mean()),
        }
    return results


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
    parser.add_argument("--data", type=Path, nargs="*", default=[], help="data folders with texts")
    parser.add_argument("--quality-texts", type=int, default=2000, help="of each data folder")
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
    found: dict[str, Any] = {
        n: way.result(len(texts), options.threads) for n, way in contestants.items()
    }
    quality = {folder.name: costs(folder, options.quality_texts) for folder in options.data}
    rows = rows_of({**found, **quality})
    show_rows(f"MiniLM-L6 on {options.threads} threads, texts of 32 tokens", rows)
    settings = {**vars(options), "data": list(quality), "byte_products": instructions()}
    finish("encoder_latency", rows, settings=settings, store=not options.no_store)


if __name__ == "__main__":
    main()
