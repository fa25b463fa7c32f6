"""Files open by content, are written whole, and damage is named."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
import zstandard

from multitudes.data.compression import (
    open_bytes,
    open_write,
    position,
    uncompressed_stem,
    uncompressed_suffix,
)
from multitudes.errors import DataError

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "zst": zstandard.compress,
}
TEXT = "".join(f"line {i} of a text with some ünicode\n" for i in range(5000)).encode()


@pytest.mark.parametrize("kind", COMPRESS)
def test_compression_is_judged_by_content_not_by_suffix(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_bytes(COMPRESS[kind](TEXT))
    with open_bytes(path) as stream:
        assert stream.read() == TEXT


def test_a_plain_file_with_an_archive_suffix_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "data.gz"
    path.write_bytes(TEXT)
    with open_bytes(path) as stream:
        assert stream.read() == TEXT


@pytest.mark.parametrize("kind", COMPRESS)
def test_several_archives_one_after_the_other(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(COMPRESS[kind](TEXT) + COMPRESS[kind](b"more\n"))
    with open_bytes(path) as stream:
        assert stream.read() == TEXT + b"more\n"


@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
def test_a_truncated_archive_is_named(kind: str, share: float, tmp_path: Path) -> None:
    path = tmp_path / f"data.{kind}"
    whole = COMPRESS[kind](TEXT)
    path.write_bytes(whole[: max(8, int(len(whole) * share))])
    with open_bytes(path) as stream, pytest.raises(DataError, match=f"data.{kind}.*truncated"):
        stream.read()


@pytest.mark.parametrize("kind", COMPRESS)
def test_a_damaged_archive_is_named(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"data.{kind}"
    whole = bytearray(COMPRESS[kind](TEXT))
    middle = len(whole) // 2
    whole[middle : middle + 20] = bytes(255 - b for b in whole[middle : middle + 20])
    path.write_bytes(bytes(whole))
    with open_bytes(path) as stream, pytest.raises(DataError, match=f"data.{kind}.*(damag|trunc)"):
        stream.read()


def test_position_counts_bytes_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "data.gz"
    path.write_bytes(gzip.compress(TEXT))
    with open_bytes(path) as stream:
        stream.read()
        assert position(stream) == path.stat().st_size < len(TEXT)


def test_a_small_archive_of_much_data_does_not_fill_memory(tmp_path: Path) -> None:
    path = tmp_path / "data.zst"
    path.write_bytes(zstandard.compress(bytes(400_000_000)))
    before = psutil.Process().memory_info().rss
    with open_bytes(path) as stream:
        stream.read(1000)
        assert psutil.Process().memory_info().rss - before < 100_000_000


def test_missing_file_and_folder_are_data_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        open_bytes(tmp_path / "nothing")
    with pytest.raises(DataError, match="is a folder"):
        open_bytes(tmp_path)


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".bz2", ".zst"])
def test_what_is_written_is_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"data{suffix}"
    with open_write(path) as stream:
        stream.write(TEXT)
    assert (path.read_bytes() == TEXT) == (suffix == "")
    with open_bytes(path) as stream:
        assert stream.read() == TEXT


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_an_interrupted_writer_leaves_the_old_file(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"data{suffix}"
    path.write_bytes(b"old")

    def write_and_stop() -> None:
        with open_write(path) as stream:
            stream.write(TEXT)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_and_stop()
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"old"


def test_equal_data_gives_equal_gz_files(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with open_write(tmp_path / name) as stream:
            stream.write(TEXT)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_writing_to_a_folder_or_nowhere_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="it is a folder"), open_write(tmp_path):
        pass
    with pytest.raises(DataError, match="cannot write"), open_write(tmp_path / "no" / "file"):
        pass


def test_suffix_and_stem_look_through_compression() -> None:
    assert uncompressed_suffix("a/trn.jsonl.xz") == ".jsonl"
    assert uncompressed_suffix("a/trn.CSV") == ".csv"
    assert uncompressed_suffix("a/trn") == uncompressed_suffix("a/trn.gz") == ""
    assert uncompressed_stem("a/trn.jsonl.xz") == uncompressed_stem("trn.json") == "trn"
