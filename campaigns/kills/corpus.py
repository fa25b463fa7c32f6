"""What the commands read: a small corpus, models, predictions."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
from pathlib import Path

from campaigns.kills.commands import TREE

N_TOPICS = 12


def write_base(folder: Path) -> None:
    """Write data of texts and of features, grouped data, two models, and old outputs."""
    folder.mkdir(parents=True)
    with contextlib.chdir(folder):
        _write_texts("train.jsonl", 60, seed=1)
        _write_texts("more.jsonl", 20, seed=2)
        _write_texts("test.jsonl", 40, seed=3)
        shutil.copyfile("test.jsonl", "old.jsonl")
        _run("train", "train.jsonl", "-o", "tree", "-m", "xr-linear", *TREE)
        _run("train", "more.jsonl", "-o", "other", "-m", "xr-linear", *TREE)
        _run("group", "train.jsonl", "--random", "3", "-o", "grouped")
        for name in ("instances.jsonl", "groups.jsonl"):
            shutil.move(f"grouped/{name}", name)
        shutil.rmtree("grouped")
        _write_numbers("numbers", 1)
        _write_numbers("other-pair", 2)


def _write_texts(name: str, n: int, *, seed: int) -> None:
    rng = random.Random(seed)
    with Path(name).open("w") as file:
        for number in range(n):
            topics = rng.sample(range(N_TOPICS), 2)
            words = [f"word{topic}x{rng.randrange(5)}" for topic in topics for _ in range(4)]
            record = {"uid": str(number), "text": " ".join(words),
                      "labels": [f"topic {topic}" for topic in topics]}  # fmt: skip
            file.write(json.dumps(record) + "\n")


def _write_numbers(folder: str, seed: int) -> None:
    import numpy as np
    import scipy.sparse as sp

    rng = np.random.default_rng(seed)
    Path(folder).mkdir()
    for name, columns in (("X", 30), ("Y", 8)):
        matrix = sp.csr_array((rng.random((20, columns)) < 0.2).astype(np.float32))
        sp.save_npz(Path(folder) / f"trn.{name}.npz", matrix)


def _run(*arguments: str) -> None:
    from multitudes.cli import main

    try:
        main([*arguments, "-q"])
    except SystemExit as end:
        if end.code:
            raise
