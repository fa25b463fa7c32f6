"""PRIME's rankings for a fusion, from a machine with a GPU.

    python -m benchmarks.fusion.encoder --data ../shared/data/llms4subjects-gnd --prepare FOLDER
    python -m benchmarks.fusion.encoder --prepared FOLDER --out RANKINGS --encoder DIR

The first command writes token ids, the second trains on all but the held-out part and ranks that,
then on everything and ranks the test split: by prototypes, by a classifier over the embeddings, and
by the nearest training texts.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.fusion import rankings
from multitudes.deep.texts.tokens import TokenRows

FILE = "fusion.npz"
LONGEST = 224  # tokens that are kept in the file
TOP_K = 48
N_NEIGHBORS = 32
AT_ONCE = 4096
PARTS = ("train", "test", "labels")


def main() -> None:
    arguments = parse()
    if arguments.prepare:
        prepare(Path(arguments.data), Path(arguments.prepare))
        return
    with np.load(Path(arguments.prepared) / FILE) as arrays:
        rows = {
            part: TokenRows(arrays[f"{part}.ids"], offsets(arrays[f"{part}.lengths"]))
            for part in PARTS
        }
        starts = offsets(arrays["Y.lengths"])
        ones = np.ones(starts[-1], np.float32)
        shape = (len(rows["train"]), len(rows["labels"]))
        Y = sp.csr_array((ones, arrays["Y.labels"], starts), shape=shape)
        held = arrays["held"]
    for full in (False, True):
        train_and_rank(rows, Y, held, arguments, full=full)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="folder of a data set")
    parser.add_argument("--prepare", help="write token ids into this folder, and end")
    parser.add_argument("--prepared", help="folder with token ids")
    parser.add_argument("--out", default="tmp/rankings")
    parser.add_argument("--encoder", default="minilm", help="folder or name")
    parser.add_argument("--name", default="prime")
    parser.add_argument("--tokens", type=int, default=112)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def prepare(source: Path, folder: Path) -> None:
    """Tokenize texts and labels, and write all that training needs."""
    from benchmarks.fusion.problem import Problem
    from multitudes.encoder.backbone.loading import load_backbone
    from multitudes.encoder.backbone.model import BackboneConfig

    problem = Problem.read(source)
    backbone = load_backbone(BackboneConfig())
    arrays: dict[str, Any] = {
        "held": problem.held,
        "Y.labels": problem.Y.indices.astype(np.int32),
        "Y.lengths": np.diff(problem.Y.indptr),
    }
    given = (problem.texts, problem.test_texts, problem.label_texts)
    for part, texts, longest in zip(PARTS, given, (LONGEST, LONGEST, 32), strict=True):
        tokens = backbone.tokenize(texts, max_length=longest).rows
        arrays |= {f"{part}.ids": tokens.ids, f"{part}.lengths": tokens.lengths.astype(np.uint16)}
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / FILE, **arrays)


def train_and_rank(
    rows: dict[str, TokenRows], Y: Any, held: Any, arguments: argparse.Namespace, *, full: bool
) -> None:
    """Train once; write the rankings of what was not learned from."""
    from multitudes.encoder import Prime
    from multitudes.encoder.classifier import train_classifier
    from multitudes.encoder.presets import prime_preset
    from multitudes.encoder.search.index import PrototypeIndex

    texts = shortened(rows["train"], arguments.tokens)
    chosen = np.arange(len(texts)) if full else np.setdiff1d(np.arange(len(texts)), held)
    start = time.perf_counter()
    model: Prime = prime_preset("prime").set_params(
        backbone__name=arguments.encoder,
        backbone__max_length=arguments.tokens,
        backbone__label_max_length=32,
        training__epochs=arguments.epochs,
        sampler__positive_weights="uniform",
        random_state=arguments.seed,
    )
    model.fit(texts.take(chosen), Y[chosen], label_texts=rows["labels"])
    embeddings = model.embed(texts.take(chosen))
    vectors = train_classifier(embeddings, Y[chosen], model.label_vectors_, device="cuda")
    seconds = time.perf_counter() - start
    wanted = shortened(rows["test"], arguments.tokens) if full else texts.take(held)
    asked = model.embed(wanted)
    found = {
        "prototypes": model.index_.search(asked, top_k=TOP_K),
        "classifier": PrototypeIndex(vectors, model.index).search(asked, top_k=TOP_K),
    }
    nearest, scores = neighbors(embeddings, asked)
    part = "full" if full else "kept"
    path = Path(arguments.out) / f"{arguments.name}-{part}.npz"
    rankings.save(path, found, (chosen[nearest].astype(np.int32), scores))
    print(json.dumps({"part": part, "seconds": round(seconds, 1), **vars(arguments)}), flush=True)


def neighbors(embeddings: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nearest training texts of each text, and their similarities."""
    import torch

    known = torch.tensor(embeddings, device="cuda", dtype=torch.float16)
    parts = []
    for first in range(0, len(asked), AT_ONCE):
        some = torch.tensor(asked[first : first + AT_ONCE], device="cuda", dtype=torch.float16)
        found = (some @ known.T).topk(N_NEIGHBORS, dim=1)
        parts.append((found.indices.cpu().numpy(), found.values.cpu().numpy()))
    return np.concatenate([ids for ids, _ in parts]), np.concatenate([s for _, s in parts])


def shortened(rows: TokenRows, longest: int) -> TokenRows:
    """The first tokens of each text."""
    lengths = np.minimum(rows.lengths, longest)
    ends = offsets(lengths)
    places = np.repeat(rows.offsets[:-1] - ends[:-1], lengths) + np.arange(ends[-1])
    return TokenRows(rows.ids[places], ends)


def offsets(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


if __name__ == "__main__":
    main()
