"""Finding files of names."""

from __future__ import annotations

from pathlib import Path

from multitudes.data.name_files import find_beside


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
