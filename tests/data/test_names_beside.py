"""Names beside a file of numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.data.dataset import Dataset
from multitudes.data.names_beside import NamesBeside, write_names
from multitudes.errors import DataError

X, Y = sp.csr_array(np.ones((1, 3), np.float32)), sp.csr_array(np.ones((1, 2), np.float32))


def test_an_empty_folder_has_no_names(tmp_path: Path) -> None:
    dataset = NamesBeside.of(tmp_path).dataset(X, Y)
    assert (dataset.label_names, dataset.label_texts, dataset.feature_names) == (None, None, None)


def test_names_and_texts_come_back(tmp_path: Path) -> None:
    write_names(
        Dataset(
            X=X, Y=Y, label_names=["a", "b"], label_texts=["A!", "b"], feature_names=["x", "y", "z"]
        ),
        tmp_path,
    )
    dataset = NamesBeside.of(tmp_path).dataset(X, Y)
    assert dataset.label_names == ("a", "b")
    assert dataset.label_texts == ("A!", "b")
    assert dataset.feature_names == ("x", "y", "z")


def test_a_dataset_without_names_writes_none(tmp_path: Path) -> None:
    write_names(Dataset(X=X, Y=Y), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("lbl.jsonl", '{"title": "a"}\n', "lbl.jsonl names 1 labels, but the data beside it has 2"),
        ("features.txt", "x\ny\n", "features.txt names 2 features, but .* has 3"),
    ],
)
def test_a_wrong_number_of_names(tmp_path: Path, file: str, text: str, message: str) -> None:
    (tmp_path / file).write_text(text)
    with pytest.raises(DataError, match=message):
        NamesBeside.of(tmp_path).dataset(X, Y)
