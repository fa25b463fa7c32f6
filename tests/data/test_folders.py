"""What a folder holds beside the instances: files of names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.data.dataset import Dataset
from multitudes.data.folders import (
    NamesBeside,
    find_beside,
    find_feature_file,
    read_feature_file,
    write_feature_file,
    write_names,
)
from multitudes.errors import DataError

X, Y = sp.csr_array(np.ones((1, 3), np.float32)), sp.csr_array(np.ones((1, 2), np.float32))


def test_an_uncompressed_file_comes_first(tmp_path: Path) -> None:
    assert find_beside(tmp_path, ("a.txt",)) is None
    (tmp_path / "a.txt.gz").touch()
    assert find_beside(tmp_path, ("a.txt",)) == tmp_path / "a.txt.gz"
    (tmp_path / "a.txt").touch()
    assert find_beside(tmp_path, ("a.txt",)) == tmp_path / "a.txt"


def test_the_first_name_comes_first(tmp_path: Path) -> None:
    (tmp_path / "b").touch()
    (tmp_path / "a.xz").touch()
    assert find_beside(tmp_path, ("a", "b")) == tmp_path / "a.xz"


def test_names_round_trip(tmp_path: Path) -> None:
    names = ["a", " b ", "", "ß"]
    write_feature_file(names, tmp_path)
    assert find_feature_file(tmp_path) == tmp_path / "features.txt"
    assert read_feature_file(tmp_path / "features.txt") == names
    write_feature_file(names, tmp_path)  # the same names may be written again


def test_other_names_are_not_overwritten(tmp_path: Path) -> None:
    write_feature_file(["a", "b"], tmp_path)
    with pytest.raises(DataError, match="already holds other names than the 1 to write"):
        write_feature_file(["a"], tmp_path)
    assert read_feature_file(tmp_path / "features.txt") == ["a", "b"]


def test_invalid_utf8(tmp_path: Path) -> None:
    (tmp_path / "features.txt").write_bytes(b"a\n\xff\n")
    with pytest.raises(DataError, match=r"features.txt:2: invalid UTF-8 \(got byte 0xff\)"):
        read_feature_file(tmp_path / "features.txt")


@pytest.mark.parametrize("name", ["a\nb", "a\r"])
def test_a_line_end_in_a_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="a name cannot hold a line end"):
        write_feature_file([name], tmp_path)
    assert list(tmp_path.iterdir()) == []


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
