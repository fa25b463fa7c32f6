"""Data and encoders in files that go to and from a machine with a GPU."""

from __future__ import annotations

import copy
import dataclasses
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.deep.texts.tokens import TokenRows
from multitudes.encoder.prime import Prime

FILE = "problem.npz"


@dataclass(frozen=True)
class Problem:
    """Texts of training and test instances and of labels as token ids, and the labels of each.

    Parameters
    ----------
    name : str
    train, test, labels : TokenRows
    Y, Y_test : CSR (n_instances, n_labels)
    pairs, test_pairs : int64 arrays (n_pairs, 2)
        (row, label) to leave out of predictions, of training and test instances.
    """

    name: str
    train: TokenRows
    test: TokenRows
    labels: TokenRows
    Y: Any
    Y_test: Any
    pairs: np.ndarray
    test_pairs: np.ndarray

    def save(self, folder: Path) -> None:
        """Write one compressed file."""
        folder.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, Any] = {
            "name": np.array(self.name),
            "pairs": self.pairs,
            "test_pairs": self.test_pairs,
        }
        for part in ("train", "test", "labels"):
            rows = getattr(self, part)
            arrays[f"{part}.ids"] = rows.ids
            arrays[f"{part}.lengths"] = rows.lengths.astype(np.uint16)
        for part in ("Y", "Y_test"):
            Y = getattr(self, part)
            arrays[f"{part}.labels"] = Y.indices.astype(np.int32)
            arrays[f"{part}.lengths"] = np.diff(Y.indptr).astype(np.int32)
        np.savez_compressed(folder / FILE, **arrays)

    @classmethod
    def load(cls, folder: Path) -> Problem:
        """Read what `save` wrote."""
        with np.load(folder / FILE) as arrays:
            rows = {
                part: TokenRows(arrays[f"{part}.ids"], _offsets(arrays[f"{part}.lengths"]))
                for part in ("train", "test", "labels")
            }
            n_labels = len(rows["labels"])
            labels = {part: _matrix(arrays, part, n_labels) for part in ("Y", "Y_test")}
            pairs = {part: arrays[part] for part in ("pairs", "test_pairs")}
            return cls(str(arrays["name"]), **rows, **labels, **pairs)

    def first(self, n: int) -> Problem:
        """The first `n` training and test instances, for a quick look."""
        train, test = (np.arange(min(n, len(rows))) for rows in (self.train, self.test))
        return self._with(train, self.test.take(test), self.Y_test[test], self.test_pairs)

    def for_validation(self, n: int, random_state: int) -> Problem:
        """`n` training instances stand in for the test split; the rest is learned from."""
        order = np.random.default_rng(random_state).permutation(len(self.train))
        kept, aside = np.sort(order[n:]), np.sort(order[:n])
        place = np.full(len(order), -1)
        place[aside] = np.arange(n)
        pairs = np.stack([place[self.pairs[:, 0]], self.pairs[:, 1]], axis=1)
        return self._with(kept, self.train.take(aside), self.Y[aside], pairs[pairs[:, 0] >= 0])

    def _with(self, kept: Any, test: TokenRows, Y_test: Any, test_pairs: Any) -> Problem:
        """Some training instances and another test split; pairs of training are not needed on."""
        test_pairs = test_pairs[test_pairs[:, 0] < len(test)]
        return dataclasses.replace(
            self,
            train=self.train.take(kept),
            Y=self.Y[kept],
            pairs=self.pairs[:0],
            test=test,
            Y_test=Y_test,
            test_pairs=test_pairs,
        )


def prepare(source: Path, *, max_length: int, label_max_length: int = 32) -> Problem:
    """Read a data set's folder and tokenize it."""
    # Here: a machine that is given prepared data needs no readers.
    from multitudes.data import ReadOptions, read_dataset
    from multitudes.encoder.backbone.loading import load_backbone
    from multitudes.encoder.backbone.model import BackboneConfig

    train = read_dataset(source, options=ReadOptions(split="trn"))
    # Where the test part is not public, the development part stands in for it.
    other = "tst" if any(source.glob("tst.*")) else "dev"
    test = read_dataset(source, labels=train, options=ReadOptions(split=other))
    backbone = load_backbone(BackboneConfig())
    rows = [
        backbone.tokenize(texts, max_length=length).rows
        for texts, length in (
            (train.texts, max_length),
            (test.texts, max_length),
            (train.label_texts or train.label_names, label_max_length),
        )
    ]
    none = np.zeros((0, 2), np.int64)
    pairs = [none if part.filter_pairs is None else part.filter_pairs for part in (train, test)]
    return Problem(source.name, *rows, train.Y, test.Y, *pairs)


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def _matrix(arrays: Any, part: str, n_labels: int) -> Any:
    lengths, labels = arrays[f"{part}.lengths"], arrays[f"{part}.labels"]
    shape = (len(lengths), n_labels)
    return sp.csr_array((np.ones(len(labels), np.float32), labels, _offsets(lengths)), shape=shape)


LARGEST = 15 * 10**6  # bytes of a file
PART = ".part"


def save_encoder(model: Prime, folder: Path) -> None:
    """Write the backbone in float16; a file of more than 15 MB becomes several."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    backbone = copy.deepcopy(model.network_.backbone).cpu()
    backbone.model.half()
    backbone.write_folder(folder)
    for path in list(folder.rglob("*")):
        if path.is_file() and path.stat().st_size > LARGEST:
            split(path)


def split(path: Path) -> None:
    """Put a file's bytes into numbered parts, and remove it."""
    content = path.read_bytes()
    for number, start in enumerate(range(0, len(content), LARGEST)):
        part = path.with_name(f"{path.name}{PART}{number:03d}")
        part.write_bytes(content[start : start + LARGEST])
    path.unlink()


def whole_folder(folder: Path, target: Path) -> Path:
    """A copy of a folder with its files whole again; returns `target`."""
    shutil.copytree(folder, target, dirs_exist_ok=True)
    for first in list(target.rglob(f"*{PART}000")):
        whole = first.with_name(first.name.removesuffix(f"{PART}000"))
        parts = sorted(first.parent.glob(f"{whole.name}{PART}*"))
        whole.write_bytes(b"".join(part.read_bytes() for part in parts))
        for part in parts:
            part.unlink()
    return target
