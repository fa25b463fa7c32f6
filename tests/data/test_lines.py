"""Blocks of whole lines, and the lines that are too long for one."""

from __future__ import annotations

import gzip
from pathlib import Path

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multitudes.data.lines import line_blocks
from multitudes.data.report import ErrorLog
from multitudes.errors import DataError


@settings(max_examples=60, deadline=None)
@given(
    lines=st.lists(st.text("ab", max_size=40).map(str.encode), min_size=1, max_size=30),
    ends_with_newline=st.booleans(),
    block_bytes=st.integers(1, 64),
)
def test_blocks_hold_every_line_once_with_its_number(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[bytes],
    ends_with_newline: bool,
    block_bytes: int,
) -> None:
    path = tmp_path_factory.mktemp("lines") / "data"
    data = b"\n".join(lines) + (b"\n" if ends_with_newline or lines == [b""] else b"")
    path.write_bytes(data)
    blocks = list(line_blocks(path, ErrorLog("raise"), max_line_bytes=64, block_bytes=block_bytes))
    assert b"".join(block.data for block in blocks) == data
    for block in blocks[:-1]:
        assert block.data.endswith(b"\n")
    starts = [0]
    for block in blocks:
        starts.append(starts[-1] + len(block.data))
    assert [block.first_line for block in blocks] == [
        data[:start].count(b"\n") + 1 for start in starts[:-1]
    ]


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 60), min_size=1, max_size=20),
    block_bytes=st.integers(1, 64),
)
def test_skipping_leaves_exactly_the_long_lines_out(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], block_bytes: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "data"
    lines = [bytes([97 + i]) * length for i, length in enumerate(lengths)]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    log = ErrorLog("skip")
    kept = {
        number: line
        for block in line_blocks(path, log, max_line_bytes=20, block_bytes=block_bytes)
        for number, line in enumerate(block.data.removesuffix(b"\n").split(b"\n"), block.first_line)
    }
    assert kept == {i: line for i, line in enumerate(lines, 1) if len(line) <= 20}
    assert log.skipped == sum(length > 20 for length in lengths)


def test_a_line_of_30_mb_is_named_and_does_not_fill_memory(tmp_path: Path) -> None:
    path = tmp_path / "data.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(b"short\n")
        for _ in range(30):
            stream.write(b"x" * 1_000_000)
    before = psutil.Process().memory_info().rss
    with pytest.raises(
        DataError, match=r"data.gz:2: the line is longer than max_line_bytes \(16,777"
    ):
        list(line_blocks(path, ErrorLog("raise"), max_line_bytes=1 << 24))
    log = ErrorLog("skip")
    blocks = list(line_blocks(path, log, max_line_bytes=1 << 24))
    assert [block.data for block in blocks] == [b"short\n"]
    assert log.skipped == 1
    assert psutil.Process().memory_info().rss - before < 60_000_000


def test_byte_order_marks(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"\xef\xbb\xbfone\n")
    blocks = list(line_blocks(path, ErrorLog("raise"), max_line_bytes=100))
    assert [block.data for block in blocks] == [b"one\n"]
    path.write_bytes("one\n".encode("utf-16"))
    with pytest.raises(DataError, match="UTF-16.*iconv"):
        list(line_blocks(path, ErrorLog("raise"), max_line_bytes=100))


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(b"")
    with pytest.raises(DataError, match="data.jsonl is empty"):
        list(line_blocks(path, ErrorLog("raise"), max_line_bytes=100))
