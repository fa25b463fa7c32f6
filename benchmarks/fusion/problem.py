"""Texts and labels of a data set: a part held out for the fusion, and what is measured."""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.fusion.measures import Truth
from multitudes.data import Dataset, ReadOptions, read_dataset

OFFICIAL = "dev-official.jsonl.xz"
N_HELD = 7_500
NO_PAIRS = np.zeros((0, 2), np.int64)


@dataclass(frozen=True)
class Problem:
    """Training texts, of which `held` are kept aside for the fusion, and texts to measure on.

    `held_pairs` and `test_pairs` are (row, label) that no member may predict, e.g. a page itself.
    """

    name: str
    texts: list[str]
    Y: Any
    label_texts: list[str]
    held: np.ndarray
    test_texts: list[str]
    truth: Truth
    held_pairs: np.ndarray
    test_pairs: np.ndarray

    @property
    def kept(self) -> np.ndarray:
        """Rows that members learn from before the fusion does."""
        return np.setdiff1d(np.arange(len(self.texts)), self.held)

    @classmethod
    def read(cls, folder: Path, *, n_held: int = N_HELD) -> Problem:
        """Read a folder of the shared data; where there is an official dev split, measure on it."""
        train = read_dataset(folder, options=ReadOptions(split="trn"))
        labels = records_of(folder / "lbl.jsonl.xz")
        test_pairs = NO_PAIRS
        if (folder / OFFICIAL).exists():
            texts, truth = _official(folder / OFFICIAL, labels)
        else:
            test = read_dataset(folder, labels=train, options=ReadOptions(split="tst"))
            texts, truth = _test(test)
            test_pairs = NO_PAIRS if test.filter_pairs is None else test.filter_pairs
        n = len(train)
        held = np.sort(np.random.default_rng(0).permutation(n)[: min(n_held, n // 5)])
        return cls(
            folder.name,
            list(train.texts or ()),
            sp.csr_array(train.Y),
            list(map(names_of, labels)),
            held,
            texts,
            truth,
            _of_rows(train.filter_pairs, held),
            test_pairs,
        )


def _of_rows(pairs: np.ndarray | None, rows: np.ndarray) -> np.ndarray:
    """The pairs of some rows, which are numbered anew."""
    if pairs is None:
        return NO_PAIRS
    place = np.searchsorted(rows, pairs[:, 0])
    found = rows[np.minimum(place, len(rows) - 1)] == pairs[:, 0]
    return np.stack([place[found], pairs[found, 1]], axis=1)


def records_of(path: Path) -> list[dict[str, Any]]:
    """The JSON lines of a compressed file."""
    with lzma.open(path) as lines:
        return [json.loads(line) for line in lines]


def names_of(label: dict[str, str]) -> str:
    """All names of a label, one behind the other."""
    names = [label["title"], label.get("title_en") or label["title"]]
    return " / ".join(dict.fromkeys(names))


def _official(path: Path, labels: list[dict[str, str]]) -> tuple[list[str], Truth]:
    records = records_of(path)
    ids = {label["uid"]: place for place, label in enumerate(labels)}
    rows = [[ids[name] for name in record["labels"] if name in ids] for record in records]
    starts = np.cumsum([0, *map(len, rows)])
    known = np.array([label for row in rows for label in row], np.int32)
    Y = sp.csr_array((np.ones(len(known), np.float32), known, starts), (len(rows), len(labels)))
    n_right = np.array([len(record["labels"]) for record in records])
    kinds = ["/".join(record["uid"].split("/")[:2]) for record in records]
    texts = [f"{record['title']} {record.get('content') or ''}".strip() for record in records]
    return texts, Truth(Y, n_right, kinds)


def _test(dataset: Dataset) -> tuple[list[str], Truth]:
    Y = sp.csr_array(dataset.Y)
    return list(dataset.texts or ()), Truth(Y, np.diff(Y.indptr), ())
