"""Encoders over packed texts against transformers' own way, padded: speed and equality.

    python -m benchmarks.packed_encoders

Random weights in the shapes of DistilBERT, RoBERTa, MPNet and ModernBERT (base), bfloat16. A step
of training is a forward and a backward pass under autocast, with the dropout of the family; a
step of prediction is a forward pass under autocast. Both ways take turns, and padding is to the
longest text of the batch. Lengths are drawn from a lognormal distribution and cut: "titles"
as titles of lf-msdocs-links have them (median 10 tokens, 95 % below 21), "title and content" as
its records (median 20, 95 % below 46), "nearly full" evenly between 26 and 32, and "abstracts"
longer than the kernel for short texts takes. Needs a GPU, about two minutes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import transformers

from benchmarks.report import Rounds, finish, rows_of, show_rows
from multitudes.deep.texts.tokens import PackedTokens, TokenRows, pack
from multitudes.encoder.backbone.model import Backbone, BackboneConfig

PADDING, SMALLEST_ID, LARGEST_ID = 1, 10, 30_000
FAMILIES: dict[str, tuple[Any, Any]] = {
    "DistilBERT": (transformers.DistilBertModel, transformers.DistilBertConfig),
    "RoBERTa": (transformers.RobertaModel, transformers.RobertaConfig),
    "MPNet": (transformers.MPNetModel, transformers.MPNetConfig),
    "ModernBERT": (transformers.ModernBertModel, transformers.ModernBertConfig),
}
LENGTHS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "titles": lambda rng, n: rng.lognormal(np.log(10), 0.45, n).clip(3, 32),
    "title and content": lambda rng, n: rng.lognormal(np.log(20), 0.51, n).clip(3, 46),
    "nearly full": lambda rng, n: rng.integers(26, 33, n),
    "abstracts": lambda rng, n: rng.lognormal(np.log(150), 0.5, n).clip(3, 256),
}
LONG = 8  # times fewer texts in a batch of long ones


def encoders(family: str, layers: int | None, device: str) -> dict[str, Backbone]:
    """The same weights, run both ways."""
    torch.manual_seed(0)
    build, configure = FAMILIES[family]
    shape = configure(**({} if layers is None else {"num_hidden_layers": layers}))
    shape.pad_token_id = PADDING
    model = build(shape).to(device)
    tokenizer = SimpleNamespace(pad_token_id=PADDING)
    return {
        way: Backbone(model, tokenizer, BackboneConfig(pooling="mean", attention=way))
        for way in ("packed", "padded")
    }


def batch_of(lengths: str, n: int, device: str) -> PackedTokens:
    rng = np.random.default_rng(0)
    sizes = LENGTHS[lengths](rng, n // LONG if lengths == "abstracts" else n).astype(np.int64)
    ids = rng.integers(SMALLEST_ID, LARGEST_ID, sizes.sum()).astype(np.int32)
    return pack(TokenRows(ids, np.concatenate([[0], np.cumsum(sizes)])), device=device)


def training_step(backbone: Backbone, batch: PackedTokens, target: torch.Tensor) -> None:
    """Forward and backward pass; the loss is a product with fixed numbers."""
    backbone.train()
    with torch.autocast(batch.ids.device.type, dtype=torch.bfloat16):
        embeddings = backbone(batch)
    (embeddings * target).sum().backward()
    backbone.model.zero_grad()


def prediction_step(backbone: Backbone, batch: PackedTokens) -> None:
    backbone.eval()
    with torch.inference_mode(), torch.autocast(batch.ids.device.type, dtype=torch.bfloat16):
        backbone(batch)


def seconds_in_turns(steps: dict[str, Callable[[], None]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each step, round by round; the first rounds warm up."""
    found: dict[str, list[float]] = {name: [] for name in steps}
    for i in range(-3, rounds):
        for name, step in steps.items():
            wait()
            start = time.perf_counter()
            step()
            wait()
            if i >= 0:
                found[name].append(time.perf_counter() - start)
    return found


def wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def equality(ways: dict[str, Backbone], batch: PackedTokens) -> dict[str, float]:
    """How far embeddings of both ways are apart in bfloat16, and from padded ones in float32."""
    found = {}
    with torch.inference_mode():
        for way, backbone in ways.items():
            backbone.eval()
            with torch.autocast(batch.ids.device.type, dtype=torch.bfloat16):
                found[way] = backbone(batch)
        exact = ways["padded"](batch)
        exact_packed = ways["packed"](batch)
    packed, padded = found["packed"], found["padded"]
    return {
        "largest_difference": (packed - padded).abs().max().item(),
        "largest_distance": (packed - padded).norm(dim=1).max().item(),
        "least_cosine": (packed * padded).sum(1).min().item(),
        "packed_from_float32": (packed - exact).norm(dim=1).max().item(),
        "padded_from_float32": (padded - exact).norm(dim=1).max().item(),
        "float32_difference": (exact_packed - exact).abs().max().item(),
    }


def measured(family: str, given: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Ratios and equality of one family, for each set of lengths."""
    ways = encoders(family, given.layers, given.device)
    found: dict[str, dict[str, Any]] = {}
    for name in given.lengths:
        batch = batch_of(name, given.texts, given.device)
        target = torch.randn(len(batch), ways["packed"].dim, device=given.device)
        steps = {
            way: lambda one=one, batch=batch, target=target: training_step(one, batch, target)
            for way, one in ways.items()
        }
        found[name] = {"texts": len(batch), "tokens": len(batch.ids), "longest": batch.max_length}
        found[name] |= equality(ways, batch)
        found[name] |= timings(seconds_in_turns(steps, given.rounds), "training")
        steps = {
            way: lambda one=one, batch=batch: prediction_step(one, batch)
            for way, one in ways.items()
        }
        found[name] |= timings(seconds_in_turns(steps, given.rounds), "prediction")
    return found


def timings(seconds: dict[str, list[float]], what: str) -> dict[str, Any]:
    """Milliseconds of both ways and their ratio, of each round."""
    times = {f"{what}_{way}_ms": Rounds([1e3 * one for one in s]) for way, s in seconds.items()}
    pairs = zip(seconds["padded"], seconds["packed"], strict=True)
    return {**times, f"{what}_ratio": Rounds([a / b for a, b in pairs])}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--lengths", nargs="+", choices=list(LENGTHS), default=list(LENGTHS))
    parser.add_argument("--texts", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--layers", type=int, help="by default those of the base model")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--no-store", action="store_true")
    given = parser.parse_args()
    results = {family: measured(family, given) for family in given.families}
    rows = rows_of(results)
    show_rows(f"packed against padded, batches of {given.texts:,} texts", rows)
    card = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    settings = {**vars(given), "card": card, "versions": versions}
    finish("packed_encoders", rows, settings=settings, store=not given.no_store)


if __name__ == "__main__":
    main()
