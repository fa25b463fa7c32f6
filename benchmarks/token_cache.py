"""Tokenizing a large set of texts, and reading its tokens from the cache the next time.

    python -m benchmarks.token_cache --data trn.jsonl.xz

Titles with their contents, MiniLM's tokenizer, 32 tokens; the cache is an empty temporary folder.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.report import finish, rows_of, show


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measured(texts: list[str]) -> dict[str, float]:
    """Seconds without the cache, with it for the first time, and again."""
    from transformers import AutoTokenizer

    from multitudes.deep.texts import token_cache
    from multitudes.deep.texts.tokenizing import tokenize
    from multitudes.encoder.backbone.loading import minilm_folder

    tokenizer = AutoTokenizer.from_pretrained(minilm_folder())
    token_cache.WORTHWHILE = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MULTITUDES_CACHE"] = folder

        def kept() -> object:
            return token_cache.kept_tokens(texts, tokenizer, max_length=32)

        found = {
            "texts": len(texts),
            "plain": seconds(lambda: tokenize(texts, tokenizer, max_length=32)),
            "first": seconds(kept),
            "again": seconds(kept),
        }
    return {**found, "ratio": found["plain"] / found["again"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--no-store", action="store_true")
    given = parser.parse_args()
    from multitudes.data import read_dataset

    texts = list(read_dataset(given.data).texts or [])
    found = [measured(texts[:size]) for size in given.sizes]
    show("seconds", list(found[0]), [[f"{value:.3g}" for value in one.values()] for one in found])
    rows = rows_of({f"{one['texts']:,} texts": one for one in found})
    finish("token_cache", rows, data=[given.data.parent], store=not given.no_store)


if __name__ == "__main__":
    main()
