"""Parquet: lists of names or ids, strings, and columns of the wrong type."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from multitudes.data import ReadOptions
from multitudes.data.formats.parquet import read_parquet, write_parquet
from multitudes.errors import DataError, MissingExtraError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def table(tmp_path: Path, **columns: Any) -> Path:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def test_lists_of_names(tmp_path: Path) -> None:
    path = table(tmp_path, text=["a", "b"], labels=[["x", "y"], []], uid=[1, 2], other=[0.5, 1.5])
    dataset = read_parquet(path)
    assert dataset.texts == ("a", "b")
    assert dataset.labels_of(0) == ["x", "y"]
    assert dataset.uids == ("1", "2")


def test_row_groups_of_any_size(tmp_path: Path) -> None:
    labels = [["x"], ["y", "z"], []] * 9
    path = tmp_path / "data.parquet"
    written = pa.table({"text": ["a", "b", "c"] * 9, "labels": labels})
    pq.write_table(written, path, row_group_size=10)
    dataset = read_parquet(path)
    assert list(map(dataset.labels_of, range(27))) == labels


def test_lists_of_ids(tmp_path: Path) -> None:
    dataset = read_parquet(table(tmp_path, text=["a", "b"], labels=[[3], [0, 0]]))
    assert dataset.label_names is None
    assert dataset.Y.toarray().tolist() == [[0, 0, 0, 1], [1, 0, 0, 0]]


def test_strings_with_a_separator_and_groups(tmp_path: Path) -> None:
    path = table(tmp_path, title=["a"], content=["b"], labels=["x|y"], group=[7])
    dataset = read_parquet(path, ReadOptions(label_separator="|"))
    assert dataset.texts == ("a b",)
    assert dataset.label_names == ("x", "y")
    assert dataset.group_names == ("7",)


def test_dictionary_and_large_strings(tmp_path: Path) -> None:
    path = table(
        tmp_path,
        text=pa.array(["a", "a"]).dictionary_encode(),
        labels=pa.array([["x"], ["y"]], pa.large_list(pa.large_string())),
    )
    assert read_parquet(path).texts == ("a", "a")


def test_only_empty_label_lists(tmp_path: Path) -> None:
    assert read_parquet(table(tmp_path, text=["a"], labels=[[]])).n_labels == 0


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"text": [1]}, r"'text' has the wrong type \(got int64\); expected string"),
        ({"text": ["a"], "labels": [1.5]}, r"'labels' has the wrong type \(got double\)"),
        ({"text": ["a"], "labels": [[1.5]]}, r"wrong type \(got list<.*double>\); expected list"),
        ({"text": ["a"], "uid": [[1]]}, "'uid' has the wrong type"),
        ({"labels": [["x"]]}, r"no column holds the text \(got columns \['labels'\]\)"),
    ],
)
def test_wrong_types_are_named(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_parquet(table(tmp_path, **columns))


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("text", ["a", None], r"row 2: the text is missing \(got null\)"),
        ("labels", [["x"], None], "row 2: the labels is missing"),
        ("labels", [["x"], [None]], r"row 2: a label is neither .* \(got None\)"),
        ("uid", ["1", None], "row 2: the uid is missing"),
    ],
)
def test_nulls_are_named_by_row_or_skipped(
    tmp_path: Path, column: str, values: list[Any], message: str
) -> None:
    columns = {"text": ["a", "b"], "labels": [["x"], ["y"]], "uid": ["1", "2"], column: values}
    path = table(tmp_path, **columns)
    with pytest.raises(DataError, match=f"data.parquet: {message}"):
        read_parquet(path)
    dataset = read_parquet(path, ReadOptions(on_error="skip"))
    assert dataset.texts == ("a",)
    assert dataset.report is not None
    assert dataset.report.skipped == 1


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = table(tmp_path, text=["a"], labels=[["x"]])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="data.parquet: damaged or not Parquet"):
        read_parquet(path)


def test_a_file_compressed_as_a_whole(tmp_path: Path) -> None:
    path = table(tmp_path, text=["a"], labels=[["x"]])
    packed = tmp_path / "data.parquet.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_parquet(packed).texts == ("a",)


def test_many_batches_round_trip(tmp_path: Path) -> None:
    path = table(
        tmp_path, text=[str(i) for i in range(25_000)], labels=[[i % 9] for i in range(25_000)]
    )
    dataset = read_parquet(path)
    write_parquet(dataset, tmp_path / "out.parquet")
    again = read_parquet(tmp_path / "out.parquet")
    assert again.texts == dataset.texts
    assert (again.Y != dataset.Y).nnz == 0


def test_without_pyarrow_the_pip_line_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'multitudes\[parquet\]'"):
        read_parquet(tmp_path / "data.parquet")
