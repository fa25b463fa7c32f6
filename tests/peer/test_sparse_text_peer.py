"""Sparse text against scikit-learn's svmlight reader and writer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from multitudes.data.dataset import Dataset
from multitudes.data.formats.sparse_text import read_sparse_text, write_sparse_text
from multitudes.data.options import ReadOptions, WriteOptions


@pytest.fixture
def dataset() -> Dataset:
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 40), density=0.2, rng=rng, format="csr", dtype=np.float64)
    Y = sp.csr_array((rng.random((60, 7)) < 0.3).astype(np.float32))
    X.data = (X.data * 10.0 ** rng.integers(-12, 12, X.nnz)).astype(np.float32)
    return Dataset(X=sp.csr_array(X, dtype=np.float32), Y=Y)


def test_scikit_learn_reads_what_we_write(tmp_path: Path, dataset: Dataset) -> None:
    path = tmp_path / "a.txt"
    write_sparse_text(dataset, path, WriteOptions(label_kind="ids"))
    body = tmp_path / "body.txt"
    body.write_bytes(path.read_bytes().split(b"\n", 1)[1])
    X, labels = load_svmlight_file(body, n_features=40, multilabel=True, zero_based=True)
    np.testing.assert_array_equal(X.toarray().astype(np.float32), dataset.X.toarray())
    assert [list(map(int, row)) for row in labels] == [
        dataset.Y[[i]].indices.tolist() for i in range(60)
    ]


@pytest.mark.parametrize("zero_based", [True, False])
def test_we_read_what_scikit_learn_writes(
    tmp_path: Path, dataset: Dataset, zero_based: bool
) -> None:
    path = str(tmp_path / "a.svm")
    X, Y = sp.csr_matrix(dataset.X), sp.csr_matrix(dataset.Y)
    dump_svmlight_file(X, Y, path, multilabel=True, zero_based=zero_based, comment="a note")
    options = ReadOptions(first_feature=0 if zero_based else 1, n_features=40, n_labels=7)
    again = read_sparse_text(path, options)
    np.testing.assert_array_equal(again.X.toarray(), dataset.X.toarray())
    np.testing.assert_array_equal(again.Y.toarray(), dataset.Y.toarray())
