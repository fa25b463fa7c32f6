"""The feature file, ``features.txt``: one name per line, in the order of the columns of X."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from multitudes.data.compression import open_write
from multitudes.data.lines import line_blocks
from multitudes.data.name_files import FEATURE_FILES, find_beside
from multitudes.data.report import ErrorLog
from multitudes.data.writing import encoding_checked
from multitudes.errors import DataError

_MAX_LINE_BYTES = 1 << 20


def find_feature_file(folder: Path) -> Path | None:
    """The feature file of a folder, compressed or not; None where there is none."""
    return find_beside(folder, FEATURE_FILES)


def read_feature_file(path: Path) -> list[str]:
    """The names of all features."""
    names: list[str] = []
    for block in line_blocks(path, ErrorLog("raise"), max_line_bytes=_MAX_LINE_BYTES):
        try:
            text = block.data.decode()
        except UnicodeDecodeError as error:
            line = block.first_line + block.data[: error.start].count(b"\n")
            raise DataError(
                f"{path}:{line}: invalid UTF-8 (got byte {block.data[error.start]:#04x}); expected "
                "one name per line in UTF-8: convert the file"
            ) from error
        names += [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    return names


def write_feature_file(names: Sequence[str], folder: Path) -> None:
    """Write ``features.txt``, or check that the one already there holds the same names."""
    present = find_feature_file(folder)
    if present is not None:
        if read_feature_file(present) != list(names):
            raise DataError(
                f"{present} already holds other names than the {len(names):,} to write: write to "
                "another folder"
            )
        return
    path = folder / FEATURE_FILES[0]
    broken = next((name for name in names if "\n" in name or name.endswith("\r")), None)
    if broken is not None:
        raise DataError(
            f"{path} holds one feature name per line, so a name cannot hold a line end "
            f"(got {broken!r}): rename it, or drop feature_names"
        )
    with open_write(path) as stream, encoding_checked(path):
        stream.writelines(name.encode() + b"\n" for name in names)
