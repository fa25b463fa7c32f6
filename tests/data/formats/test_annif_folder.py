"""Annif's folders of documents: texts, subjects beside them, splits, and broken ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from multitudes.data import Dataset, ReadOptions, read_dataset, write_dataset
from multitudes.errors import DataError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "b.txt": b"second\nlines",
        "b.key": b"networks\r\n\ncomputer science\n",
        "a.txt": b"\xef\xbb\xbffirst",
        "a.tsv": b"<http://x/1>\tnetworking\tmore\n<http://x/2>\tprotocols\n",
        "c.txt": b"",
        "d.json": json.dumps(
            {"text": "json", "subjects": [{"uri": "http://x/1"}]}, indent=1
        ).encode(),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def test_documents_in_the_order_of_their_names(folder: Path) -> None:
    dataset = read_dataset(folder)
    assert dataset.uids == ("a", "b", "c", "d")
    assert dataset.texts == ("first", "second\nlines", "", "json")
    assert [dataset.labels_of(i) for i in range(4)] == [
        ["http://x/1", "http://x/2"],
        ["networks", "computer science"],
        [],
        ["http://x/1"],
    ]
    assert dataset.label_titles == ("networking", "protocols", "networks", "computer science")
    assert dataset.report is not None
    assert dataset.report.format == "annif-folder"


def test_folders_of_splits(tmp_path: Path) -> None:
    for split in ("train", "test"):
        (tmp_path / split).mkdir()
        (tmp_path / split / "x.txt").write_text(split)
        (tmp_path / split / "x.key").write_text("a\n")
    assert read_dataset(tmp_path).texts == ("train",)
    assert read_dataset(tmp_path, options=ReadOptions(split="tst")).texts == ("test",)
    with pytest.raises(DataError, match="no documents for the split 'dev'"):
        read_dataset(tmp_path, format="annif-folder", options=ReadOptions(split="dev"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"caf\xe9", "a.txt: invalid UTF-8 at byte 4"),
        ("a.tsv", b"<http://\xff>\tx", "a.tsv: invalid UTF-8"),
        ("a.tsv", b"\tlabel without a URI\n", "a.txt: a label is empty"),
        ("a.txt", b"x" * 400, "a.txt: the file is longer than max_line_bytes"),
        ("d.json", b"{broken", "d.json: broken JSON"),
        ("d.json", b'{"text": 3}', "d.json: not a document"),
    ],
)
def test_bad_documents_are_named_or_skipped(
    folder: Path, name: str, content: bytes, message: str
) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_dataset(folder, options=ReadOptions(max_line_bytes=300))
    options = ReadOptions(max_line_bytes=300, on_error="skip")
    dataset = read_dataset(folder, options=options)
    assert len(dataset) == 3
    assert dataset.report is not None
    assert dataset.report.skipped == 1


def test_round_trip(tmp_path: Path) -> None:
    dataset = Dataset.from_lists(
        ["one\ttwo\n", "ü"], [["http://x/1", "y"], []], uids=["doc-1", "doc.2"]
    )
    write_dataset(dataset, tmp_path / "out", format="annif-folder")
    again = read_dataset(tmp_path / "out")
    assert (again.texts, again.uids) == (dataset.texts, dataset.uids)
    assert [again.labels_of(i) for i in range(2)] == [["http://x/1", "y"], []]


@pytest.mark.parametrize("uids", [["../evil", "b"], ["a", "a"], ["", "b"], ["a/b", "c"]])
def test_uids_must_be_file_names(tmp_path: Path, uids: list[str]) -> None:
    dataset = Dataset.from_lists(["a", "b"], [["x"], ["x"]], uids=uids)
    with pytest.raises(DataError, match="cannot name a file of its own"):
        write_dataset(dataset, tmp_path / "out", format="annif-folder")
    assert list(tmp_path.iterdir()) == []


def test_folders_of_other_formats_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("1 2 1\n0 0:1\n")
    (tmp_path / "train.tsv").write_text("text\tlabels\na\tb\n")
    (tmp_path / "lbl.json").write_text('{"uid": "1", "title": "a"}\n')
    with pytest.raises(DataError, match="several files for the split"):
        read_dataset(tmp_path)
