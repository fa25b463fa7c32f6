"""A data set's texts and labels in two compact files, so that it can go to a machine with a GPU."""

from __future__ import annotations

import json
import lzma
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.features import TOKEN_PATTERN

FILE, VECTORS = "problem.json.xz", "vectors.bin.xz"
_WORD = re.compile(TOKEN_PATTERN)


@dataclass(frozen=True)
class Problem:
    """Texts of training and test instances and of labels, and the labels of each.

    Parameters
    ----------
    name : str
    train, test, label_texts : lists of str
    Y, Y_test : CSR (n_instances, n_labels)
    vectors : path, optional
        File of word vectors.
    """

    name: str
    train: list[str]
    test: list[str]
    label_texts: list[str]
    Y: Any
    Y_test: Any
    vectors: str | None

    def save(self, folder: Path) -> None:
        """Write texts and labels, and the vectors of words that occur."""
        folder.mkdir(parents=True, exist_ok=True)
        record = {
            "name": self.name,
            "train": self.train,
            "test": self.test,
            "label_texts": self.label_texts,
            "Y": _lists(self.Y),
            "Y_test": _lists(self.Y_test),
        }
        with lzma.open(folder / FILE, "wt", preset=6) as stream:
            json.dump(record, stream)
        if self.vectors is not None:
            self._save_vectors(folder / VECTORS)

    def _save_vectors(self, path: Path) -> None:
        """word2vec's binary format, for the words of training texts and labels alone.

        Numbers keep the precision of float16, which halves the file.
        """
        from multitudes.seq2set.words.word_vectors import read_word_vectors

        texts = [*self.train, *self.label_texts]
        words = sorted({word for text in texts for word in _WORD.findall(text.lower())})
        found = read_word_vectors(self.vectors, words)
        known = np.flatnonzero(found.known)
        vectors = found.vectors.astype(np.float16).astype(np.float32)
        with lzma.open(path, "wb", preset=6) as stream:
            stream.write(f"{len(known)} {vectors.shape[1]}\n".encode())
            for i in known:
                stream.write(words[i].encode() + b" " + vectors[i].tobytes() + b"\n")

    @classmethod
    def load(cls, folder: Path) -> Problem:
        """Read what `save` wrote."""
        with lzma.open(folder / FILE, "rt") as stream:
            record = json.load(stream)
        n_labels = len(record["label_texts"])
        matrices = {part: _matrix(record.pop(part), n_labels) for part in ("Y", "Y_test")}
        vectors = folder / VECTORS
        return cls(**record, **matrices, vectors=str(vectors) if vectors.exists() else None)

    def first(self, n: int) -> Problem:
        """The first `n` training and test instances, for a quick look."""
        return replace(
            self,
            train=self.train[:n],
            Y=self.Y[:n],
            test=self.test[:n],
            Y_test=self.Y_test[:n],
        )

    def split(self, random_state: int = 0) -> tuple[Problem, tuple[list[str], Any]]:
        """Without a tenth of the training instances, and that tenth, for validation."""
        order = np.random.default_rng(random_state).permutation(len(self.train))
        aside, kept = np.sort(order[: len(order) // 10]), np.sort(order[len(order) // 10 :])
        rest = replace(self, train=[self.train[i] for i in kept], Y=self.Y[kept])
        return rest, ([self.train[i] for i in aside], self.Y[aside])


def prepare(source: Path, *, vectors: str | None, max_length: int) -> Problem:
    """Read a data set's folder; texts are cut to `max_length` words."""
    from multitudes.data import ReadOptions, read_dataset

    other = "tst" if any(source.glob("tst.*")) else "dev"
    train = read_dataset(source, options=ReadOptions(split="trn"))
    test = read_dataset(source, labels=train, options=ReadOptions(split=other))
    names = train.label_texts or train.label_names
    texts = [[_cut(text, max_length) for text in part.texts] for part in (train, test)]
    return Problem(source.name, *texts, list(names), train.Y, test.Y, vectors)


def _cut(text: str, max_length: int) -> str:
    for i, word in enumerate(_WORD.finditer(text), 1):
        if i == max_length:
            return text[: word.end()]
    return text


def _lists(Y: Any) -> list[list[int]]:
    return [part.tolist() for part in np.split(Y.indices, Y.indptr[1:-1])]


def _matrix(rows: list[list[int]], n_labels: int) -> Any:
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    labels = np.array([label for row in rows for label in row], np.int32)
    shape = (len(rows), n_labels)
    return sp.csr_array((np.ones(len(labels), np.float32), labels, offsets), shape=shape)
