"""Files of names beside files of numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from multitudes.data.name_files import (
    find_beside,
    names_beside,
    read_feature_names,
    read_label_names,
    write_feature_names,
    write_label_names,
)
from multitudes.errors import DataError


def test_an_uncompressed_file_comes_first(tmp_path: Path) -> None:
    assert find_beside(tmp_path, ("a.txt",)) is None
    (tmp_path / "a.txt.gz").touch()
    assert find_beside(tmp_path, ("a.txt",)) == tmp_path / "a.txt.gz"
    (tmp_path / "a.txt").touch()
    assert find_beside(tmp_path, ("a.txt",)) == tmp_path / "a.txt"


def test_an_empty_folder_has_no_names(tmp_path: Path) -> None:
    assert (names_beside(tmp_path).labels, names_beside(tmp_path).features) == (None, None)


def test_labels_round_trip(tmp_path: Path) -> None:
    names = ["belt", "", "two\nlines", "ß \U0001f600"]
    write_label_names(tmp_path, names)
    assert read_label_names(tmp_path / "lbl.jsonl") == names
    write_label_names(tmp_path, names)  # the same names may be written again


def test_shared_titles_get_their_uid(tmp_path: Path) -> None:
    (tmp_path / "lbl.jsonl").write_text(
        '{"uid": "A", "title": "x"}\n{"uid": "B", "title": "x"}\n{"uid": "C", "title": "y"}\n'
    )
    assert read_label_names(tmp_path / "lbl.jsonl") == ["x [A]", "x [B]", "y"]


@pytest.mark.parametrize("line", ['{"title": 3}', "{}"])
def test_a_label_without_a_name(tmp_path: Path, line: str) -> None:
    (tmp_path / "lbl.jsonl").write_text('{"title": "x"}\n' + line + "\n")
    with pytest.raises(DataError, match=r"lbl.jsonl:2: a label has no name"):
        read_label_names(tmp_path / "lbl.jsonl")


def test_features_round_trip(tmp_path: Path) -> None:
    names = ["a", " b ", "", "ß"]
    write_feature_names(tmp_path, names)
    assert read_feature_names(tmp_path / "features.txt") == names


def test_feature_names_in_invalid_utf8(tmp_path: Path) -> None:
    (tmp_path / "features.txt").write_bytes(b"a\n\xff\n")
    with pytest.raises(DataError, match=r"features.txt:2: invalid UTF-8 \(got byte 0xff\)"):
        read_feature_names(tmp_path / "features.txt")
