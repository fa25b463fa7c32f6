"""The LF layout: splits, the label file, filter pairs."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multitudes.data import (
    Dataset,
    LabelSpace,
    ReadOptions,
    WriteOptions,
    read_dataset,
    write_dataset,
)
from multitudes.data.folders import read_label_file
from multitudes.errors import DataError


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    trn = lines(
        {"uid": "a", "title": "one", "content": "more", "target_ind": [0, 2], "target_rel": [1, 1]},
        {"uid": "b", "title": "two", "content": "", "target_ind": [1], "target_rel": [1]},
    )
    tst = lines({"uid": "c", "title": "three", "content": "", "target_ind": [2]})
    lbl = lines(
        {"uid": "L0", "title": "same"},
        {"uid": "L1", "title": "other", "content": "described"},
        {"uid": "L2", "title": "same"},
    )
    (tmp_path / "trn.json.gz").write_bytes(gzip.compress(trn))
    (tmp_path / "tst.jsonl").write_bytes(tst)
    (tmp_path / "lbl.jsonl.xz").write_bytes(lzma.compress(lbl))
    (tmp_path / "filter_labels_train.txt").write_bytes(b"1 0\n\n0 2\n")
    (tmp_path / "filter_labels_test.txt.xz").write_bytes(lzma.compress(b""))
    return tmp_path


def test_the_training_split_is_the_default(folder: Path) -> None:
    dataset = read_dataset(folder)
    assert dataset.texts == ("one more", "two")
    assert dataset.uids == ("a", "b")
    assert dataset.Y.toarray().tolist() == [[1, 0, 1], [0, 1, 0]]
    assert dataset.label_names == ("same [L0]", "other", "same [L2]")
    assert dataset.label_texts == ("same", "other described", "same")
    assert dataset.filter_pairs is not None
    assert dataset.filter_pairs.tolist() == [[1, 0], [0, 2]]


@pytest.mark.parametrize("split", ["tst", "test"])
def test_other_splits_have_the_same_label_space(folder: Path, split: str) -> None:
    dataset = read_dataset(folder, options=ReadOptions(split=split))
    assert dataset.texts == ("three",)
    assert dataset.Y.toarray().tolist() == [[0, 0, 1]]
    assert dataset.filter_pairs is not None
    assert dataset.filter_pairs.shape == (0, 2)


def test_titles_alone(folder: Path) -> None:
    assert read_dataset(folder, options=ReadOptions(text_column="title")).texts == ("one", "two")


def test_one_file_of_the_folder_is_read_as_its_split(folder: Path) -> None:
    dataset = read_dataset(folder / "trn.json.gz")
    assert dataset.label_names == ("same [L0]", "other", "same [L2]")
    assert dataset.filter_pairs is not None
    assert len(dataset.filter_pairs) == 2
    assert read_dataset(folder / "trn.json.gz", format="json-lines").label_names is None


def test_a_file_of_names_beside_a_label_file_has_its_own_labels(folder: Path) -> None:
    (folder / "dev.jsonl").write_bytes(lines({"text": "t", "labels": ["new"]}))
    assert read_dataset(folder / "dev.jsonl").label_names == ("new",)


def test_labels_given_beforehand_are_matched_by_name(folder: Path) -> None:
    dataset = read_dataset(folder, labels=LabelSpace(["other", "same [L0]"]))
    assert dataset.Y.toarray().tolist() == [[0, 1], [1, 0]]
    assert dataset.filter_pairs is not None
    assert dataset.filter_pairs.tolist() == [[1, 1]]
    assert dataset.report is not None
    assert dataset.report.unknown_labels == 1


def test_filter_pairs_follow_their_rows_when_lines_are_skipped(folder: Path) -> None:
    trn = [{"title": str(i), "labels": [0]} for i in range(4)]
    content = lines(trn[0]) + b"broken\n" + lines(trn[1]) + b"x" * 200 + b"\n" + lines(*trn[2:])
    (folder / "trn.json.gz").write_bytes(content)
    (folder / "filter_labels_train.txt").write_bytes(b"0 0\n1 0\n2 1\n3 1\n4 2\n5 2\n")
    options = ReadOptions(on_error="skip", max_line_bytes=100)
    dataset = read_dataset(folder, options=options)
    assert dataset.texts == ("0", "1", "2", "3")
    assert dataset.filter_pairs is not None
    assert dataset.filter_pairs.tolist() == [[0, 0], [1, 1], [2, 2], [3, 2]]


@pytest.mark.parametrize("content", ["0 3\n", "2 0\n", "0\n", "a 1\n", "-1 0\n", "0 0 0\n"])
def test_bad_filter_pairs_are_named(folder: Path, content: str) -> None:
    (folder / "filter_labels_train.txt").write_text("0 0\n" + content)
    message = rf"filter_labels_train.txt:2: not a filter pair \(got '{content.strip()}'\)"
    with pytest.raises(DataError, match=message + "; .*rows below 2 and labels below 3"):
        read_dataset(folder)


def test_ids_out_of_range_are_named(folder: Path) -> None:
    (folder / "tst.jsonl").write_bytes(lines({"title": "t", "labels": [3]}))
    with pytest.raises(DataError, match=r"tst.jsonl:1: .*out of range \(got 3\); expected 0 to 2"):
        read_dataset(folder, options=ReadOptions(split="tst"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lines({"uid": "a", "title": "t"}) + b"\n" + lines({"title": "u"}), ":2: a blank line"),
        (lines({"year": 3}), r":1: a label has no name \(got \{'year': 3\}\)"),
        (lines({"title": 3}), ":1: a label has no name"),
        (b"broken\n", ":1: broken JSON"),
        (b"", " is empty"),
    ],
)
def test_bad_label_files_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "lbl.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"lbl.jsonl{message}"):
        read_label_file(path)


def test_names_are_unique_whatever_the_titles(tmp_path: Path) -> None:
    path = tmp_path / "lbl.jsonl"
    path.write_bytes(
        lines(
            {"title": "t", "uid": "1"},
            {"title": "t", "uid": "1"},
            {"title": "t"},
            {"title": "t [3]"},
            {"uid": "only a uid"},
            {"title": "", "uid": "5"},
        )
    )
    space = read_label_file(path)
    assert space.names == ("t [1] #0", "t [1] #1", "t [3] #2", "t [3] #3", "only a uid", "5")
    assert space.texts == ("t", "t", "t", "t [3]", "", "")


def test_missing_and_ambiguous_splits_are_named(folder: Path) -> None:
    with pytest.raises(DataError, match=r"no file for the split 'dev' \(it has: trn, tst\)"):
        read_dataset(folder, options=ReadOptions(split="dev"))
    (folder / "train.jsonl").write_bytes(b"{}")
    with pytest.raises(DataError, match=r"several files .*\(got train.jsonl, trn.json.gz\)"):
        read_dataset(folder)


@pytest.mark.parametrize("compression", ["none", "xz"])
def test_both_splits_round_trip(folder: Path, tmp_path: Path, compression: str) -> None:
    out = tmp_path / "out" / "set"
    (tmp_path / "out").mkdir()
    for split in ("trn", "tst"):
        options = WriteOptions(split=split, compression=compression)
        dataset = read_dataset(folder, options=ReadOptions(split=split))
        write_dataset(dataset, out, options=options)
        again = read_dataset(out, options=ReadOptions(split=split))
        assert_same(again, dataset)


def assert_same(one: Dataset, other: Dataset) -> None:
    assert one.texts == other.texts
    assert one.uids == other.uids
    assert one.label_names == other.label_names
    assert one.label_texts == other.label_texts
    np.testing.assert_array_equal(one.Y.toarray(), other.Y.toarray())
    assert one.filter_pairs is not None
    assert other.filter_pairs is not None
    np.testing.assert_array_equal(one.filter_pairs, other.filter_pairs)


def test_a_folder_of_other_labels_is_not_overwritten(folder: Path, tmp_path: Path) -> None:
    dataset = read_dataset(folder, labels=LabelSpace(["other"]))
    with pytest.raises(DataError, match="lbl.jsonl.xz already holds other labels"):
        write_dataset(dataset, folder)


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "n_train", "n_test", "n_labels", "n_pairs"),
    [("eurlex-titles", 17_032, 4_258, 4_047, None), ("debian-deps", 48_894, 11_867, 40_623, 7_442)],
)
def test_real_folders(
    shared_data: Any, name: str, n_train: int, n_test: int, n_labels: int, n_pairs: int | None
) -> None:
    folder = shared_data(name)
    train, test = read_dataset(folder), read_dataset(folder, options=ReadOptions(split="tst"))
    assert (len(train), len(test), train.n_labels, test.n_labels) == (
        n_train,
        n_test,
        n_labels,
        n_labels,
    )
    assert train.label_names == test.label_names
    assert (None if test.filter_pairs is None else len(test.filter_pairs)) == n_pairs
