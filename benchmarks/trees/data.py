"""A data folder as X and Y that every contestant can load: NPZ files, and one sparse text file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.data import Dataset, ReadOptions, WriteOptions, read_dataset
from multitudes.data.formats.sparse_text import write_sparse_text
from multitudes.features import TfidfFeatures
from multitudes.types import Sparse


@dataclass(frozen=True, eq=False)
class Problem:
    """Training and test data."""

    X: Sparse
    Y: Sparse
    X_test: Sparse
    Y_test: Sparse


def load(source: Path) -> Problem:
    """Word TF-IDF of texts, or a file's features in rows of length 1.

    Where the test part is not public, the development part stands in for it.
    """
    held_out = "dev" if any(source.glob("dev.*")) else "tst"
    training = read_dataset(source, options=ReadOptions(split="trn"))
    test = read_dataset(source, labels=training, options=ReadOptions(split=held_out))
    X, X_test = features(training, test)
    return Problem(X, training.Y, X_test, test.Y)


def export(source: Path, folder: Path, *, as_text: bool) -> dict[str, int]:
    """Read a data folder and write X, Y, X_test and Y_test; sizes come back.

    Texts become word TF-IDF rows. Features from a file are scaled to rows of length 1, because
    some contestants do so themselves and all should see the same. Filter pairs are not applied.

    Parameters
    ----------
    source : path
        A folder in the LF layout or with sparse text files.
    folder : path
        Where to write.
    as_text : bool
        Also write the training data as ``train.txt``, which omikuji needs.
    """
    problem = load(source)
    write_matrices(folder, **vars(problem))
    if as_text:
        options = WriteOptions(label_kind="ids")
        write_sparse_text(Dataset(X=problem.X, Y=problem.Y), folder / "train.txt", options)
    return sizes(problem.X, problem.Y, problem.X_test)


def features(training: Dataset, test: Dataset) -> tuple[Sparse, Sparse]:
    """X of both parts."""
    if training.texts is not None and test.texts is not None:
        tfidf = TfidfFeatures()
        return tfidf.fit_transform(training.texts), tfidf.transform(test.texts)
    return unit_rows(training.X), unit_rows(test.X)


def unit_rows(X: Sparse) -> Sparse:
    """Rows of Euclidean length 1; an empty row stays empty."""
    lengths = np.sqrt(X.multiply(X).sum(axis=1))
    scaled = X.copy()
    scaled.data /= np.repeat(np.where(lengths > 0, lengths, 1), np.diff(X.indptr))
    return scaled


def write_matrices(folder: Path, **matrices: Any) -> None:
    """Save matrices by name, uncompressed, in the form that older SciPys read too."""
    for name, matrix in matrices.items():
        sp.save_npz(folder / f"{name}.npz", sp.csr_matrix(matrix), compressed=False)


def sizes(X: Sparse, Y: Sparse, X_test: Sparse) -> dict[str, int]:
    """What describes the problem."""
    return {
        "instances": X.shape[0],
        "test_instances": X_test.shape[0],
        "features": X.shape[1],
        "labels": Y.shape[1],
        "nnz_features": int(X.nnz),
        "nnz_labels": int(Y.nnz),
    }
