"""Attention over packed texts: our Triton kernel against PyTorch's, padded.

    python -m benchmarks.short_attention

Forward and backward pass, bfloat16, twelve heads of 32 dimensions as in MiniLM-L6, dropout 0.1,
texts of half the longest length and more. Needs a GPU.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
import torch

from benchmarks.report import show
from multitudes.deep.ops.short_attention import padded_attention, text_attention
from multitudes.deep.texts.tokens import TokenRows, pack

HEADS, HEAD_SIZE, DROPOUT = 12, 32, 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--texts", type=int, default=3200)
    parser.add_argument("--lengths", type=int, nargs="+", default=[16, 32, 64, 96, 128])
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()
    found = [measured(length, given) for length in given.lengths]
    columns = list(found[0])
    show("milliseconds", columns, [[f"{one[c]:g}" for c in columns] for one in found])
    print(json.dumps(found))


def measured(longest: int, given: argparse.Namespace) -> dict[str, float]:
    """Milliseconds of both ways for texts of up to `longest` tokens."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(longest // 2, longest + 1, given.texts)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    n_tokens = int(offsets[-1])
    packed = pack(TokenRows(np.ones(n_tokens, np.int32), offsets), device="cuda")
    on_card: Any = {"device": "cuda", "dtype": torch.bfloat16}
    qkv = torch.randn(n_tokens, 3, HEADS, HEAD_SIZE, **on_card).requires_grad_()
    seed = torch.zeros(1, dtype=torch.int64, device="cuda")
    ways = {
        "ours": lambda: text_attention(qkv, packed, seed=seed, dropout=DROPOUT),
        "padded": lambda: padded_attention(qkv, packed, dropout=DROPOUT),
    }
    times = {name: milliseconds(run, qkv, given.rounds) for name, run in ways.items()}
    forward = {
        f"{name}, forward": milliseconds(run, None, given.rounds) for name, run in ways.items()
    }
    return {"longest": longest, "tokens": n_tokens, **times, **forward}


def milliseconds(run: Any, inputs: torch.Tensor | None, rounds: int) -> float:
    """Mean time of a run, and of its backward pass where `inputs` are given."""
    for i in range(3 + rounds):
        if i == 3:
            torch.cuda.synchronize()
            start = time.perf_counter()
        with torch.set_grad_enabled(inputs is not None):
            out = run()
        if inputs is not None:
            out.backward(out)
            inputs.grad = None
    torch.cuda.synchronize()
    return round(1e3 * (time.perf_counter() - start) / rounds, 3)


if __name__ == "__main__":
    main()
