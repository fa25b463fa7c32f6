"""The footer of Parquet files: read as pyarrow reads it, and never a crash when it is damaged."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from multitudes.data.formats.parquet_footer import read_chunks

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

TABLE = {
    "text": ["red shoe", "blue hat", "red hat"] * 5,
    "labels": [["shoe"], ["hat", "blue"], []] * 5,
    "uid": list(range(15)),
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table(TABLE), path, row_group_size=10, compression="zstd")
    return path


def test_chunks_are_those_that_pyarrow_finds(file):
    metadata = pq.ParquetFile(file).metadata
    with file.open("rb") as stream:
        groups = read_chunks(stream)
    assert len(groups) == metadata.num_row_groups == 2
    for i, chunks in enumerate(groups):
        theirs = [metadata.row_group(i).column(j) for j in range(metadata.num_columns)]
        assert [tuple(chunk) for chunk in chunks] == [
            (
                chunk.path_in_schema, chunk.total_uncompressed_size, chunk.total_compressed_size,
                chunk.physical_type == "BYTE_ARRAY", chunk.has_dictionary_page,
            )
            for chunk in theirs
        ]  # fmt: skip


@pytest.mark.parametrize("cut", [1, 5, 40, 200])
def test_a_footer_that_ends_early_is_a_value_error(file, tmp_path, cut):
    whole = file.read_bytes()
    length = int.from_bytes(whole[-8:-4], "little")
    short = tmp_path / "short.parquet"
    tail = (length - cut).to_bytes(4, "little") + b"PAR1"
    short.write_bytes(whole[: -8 - cut] + tail)
    with short.open("rb") as stream, pytest.raises(ValueError, match="footer"):
        read_chunks(stream)


EVERY_BYTE = """
import sys
from pathlib import Path
from multitudes.data import read_dataset
from multitudes.errors import MultitudesError

whole = Path(sys.argv[1]).read_bytes()
changed = Path(sys.argv[1]).with_name("changed.parquet")
length = int.from_bytes(whole[-8:-4], "little")
read = refused = 0
for at in range(len(whole) - 8 - length, len(whole) - 8):
    for value in {0, 255, whole[at] ^ 1, (whole[at] + 2) % 256}:
        changed.write_bytes(whole[:at] + bytes([value]) + whole[at + 1 :])
        try:
            read_dataset(changed)
            read += 1
        except MultitudesError as error:
            assert "changed.parquet" in str(error), error
            refused += 1
print(read, refused)
"""


def test_no_byte_of_a_footer_ends_the_process(file):
    """A histogram of another length did: pyarrow aborts when such a chunk is looked at."""
    done = subprocess.run(
        [sys.executable, "-c", EVERY_BYTE, file],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    read, refused = map(int, done.stdout.split())
    assert read > 1000
    assert refused > 1000
