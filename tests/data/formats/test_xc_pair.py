"""Pairs of the extreme classification repository: names, headers, orders, and broken ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.data import Dataset, LabelSpace, ReadOptions, read_dataset, write_dataset
from multitudes.errors import DataError

X = "3 5\n1:0.5 4:2\n\n0:1e-3\n"
Y = "3 3\n2:1.0 0:1.0\n\n1:1\n"


def put(folder: Path, x: str = X, y: str = Y, split: str = "trn") -> Path:
    (folder / f"{split}_X_Xf.txt").write_text(x)
    (folder / f"{split}_X_Y.txt").write_text(y)
    return folder


@pytest.mark.parametrize("name", ["", "trn_X_Xf.txt", "trn_X_Y.txt"])
def test_by_folder_or_either_file(tmp_path: Path, name: str) -> None:
    dataset = read_dataset(put(tmp_path) / name)
    assert dataset.X is not None
    expected = [[0, 0.5, 0, 0, 2], [0, 0, 0, 0, 0], [0.001, 0, 0, 0, 0]]
    np.testing.assert_allclose(dataset.X.toarray(), expected)
    assert dataset.Y.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    assert dataset.report is not None
    assert dataset.report.taken == "features: trn_X_Xf.txt, labels: trn_X_Y.txt"


def test_splits_names_and_filter_pairs(tmp_path: Path) -> None:
    put(tmp_path)
    put(tmp_path, "1 5\n1:1\n", "1 3\n0:1\n", "tst")
    (tmp_path / "lbl.jsonl").write_text('{"title": "a"}\n{"title": "b"}\n{"title": "c"}\n')
    (tmp_path / "filter_labels_test.txt").write_text("0 2\n")
    test = read_dataset(tmp_path, options=ReadOptions(split="test"))
    assert (len(test), test.label_names) == (1, ("a", "b", "c"))
    assert test.filter_pairs is not None
    assert test.filter_pairs.tolist() == [[0, 2]]
    assert read_dataset(tmp_path).filter_pairs is None
    over = read_dataset(tmp_path, labels=LabelSpace(["c", "a"]))
    assert over.Y.toarray().tolist() == [[1, 1], [0, 0], [0, 0]]


@pytest.mark.parametrize("path", ["out", "out/tst_X_Y.txt.gz"])
def test_round_trip(tmp_path: Path, path: str) -> None:
    rng = np.random.default_rng(1)
    (tmp_path / "out").mkdir()
    dataset = Dataset(
        X=sp.random_array((30, 9), density=0.3, rng=rng, dtype=np.float32).tocsr(),
        Y=sp.csr_array(rng.random((30, 4)) < 0.3, dtype=np.float32),
        label_names=list("abcd"),
    )
    write_dataset(dataset, tmp_path / path, format="xc-pair")
    split = "tst" if path.endswith("gz") else "trn"
    again = read_dataset(tmp_path / "out", options=ReadOptions(split=split))
    assert again.X is not None
    assert dataset.X is not None
    np.testing.assert_array_equal(again.X.toarray(), dataset.X.toarray())
    np.testing.assert_array_equal(again.Y.toarray(), dataset.Y.toarray())
    assert again.label_names == dataset.label_names


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ("3 5\n1:0.5\n\n", Y, "announces 3 instances, but the file holds 2"),
        (X, "2 3\n0:1\n1:1\n", "has 3 instances and trn_X_Y.txt 2"),
        ("3 5\n9:1\n\n\n", Y, "trn_X_Xf.txt:2: the feature id is out of range"),
        ("3 5\nx\n\n\n", Y, "trn_X_Xf.txt:2: not a feature"),
        (X, "3 3\n0:1\n7:1\n1:1\n", "trn_X_Y.txt:3: the feature id is out of range"),
        (X, "3 3\n0:-1\n\n\n", "must hold 1 for each label, got -1"),
        ("3\n", Y, "not a header"),
        ("", Y, "is empty"),
    ],
)
def test_broken_pairs(tmp_path: Path, x: str, y: str, message: str) -> None:
    put(tmp_path, x, y)
    for on_error in ("raise", "skip"):  # a line left out of one file would shift the other
        options = ReadOptions(on_error=on_error)
        with pytest.raises(DataError, match=message) as caught:
            read_dataset(tmp_path, format="xc-pair", options=options)
        assert "on_error" not in str(caught.value)


def test_half_a_pair(tmp_path: Path) -> None:
    (tmp_path / "features.txt").write_text("1 2\n0:1\n")
    with pytest.raises(DataError, match="expected a pair of files, features_X_Xf.txt and"):
        read_dataset(tmp_path / "features.txt")
    (tmp_path / "trn_X_Xf.txt").write_text(X)
    with pytest.raises(DataError, match="no pair for the split 'trn'"):
        read_dataset(tmp_path)
