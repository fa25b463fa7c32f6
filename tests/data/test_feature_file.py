"""Files of feature names."""

from __future__ import annotations

from pathlib import Path

import pytest

from multitudes.data.feature_file import (
    find_feature_file,
    read_feature_file,
    write_feature_file,
)
from multitudes.errors import DataError


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
