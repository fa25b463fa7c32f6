"""Tell a file's format from its content; its name only breaks ties."""

from __future__ import annotations

import re
from pathlib import Path

from multitudes.data.compression import peek, uncompressed_suffix
from multitudes.data.formats import FORMAT_SUFFIXES, FORMATS
from multitudes.data.label_file import find_label_file
from multitudes.data.split_files import find_split, is_split_file, split_files
from multitudes.errors import DataError, suggestion

_PEEK_BYTES = 1 << 16
_BOM = b"\xef\xbb\xbf"
_SPARSE_HEADER = re.compile(rb"[0-9]+[ \t]+[0-9]+[ \t]+[0-9]+\s*$")
_SPARSE_LINE = re.compile(rb"\s*([0-9]+(,[0-9]+)*)?(\s+|^)[0-9]+:[-+.0-9]\S*(\s|$)")
_DELIMITED = ("csv", "tsv")


def known_format(name: str) -> str:
    """Check a format's name; ``jsonl`` and other suffixes stand for their formats."""
    if name in FORMATS:
        return name
    if f".{name}" in FORMAT_SUFFIXES:
        return FORMAT_SUFFIXES[f".{name}"]
    raise DataError(f"unknown format {name!r}: {suggestion(name, FORMATS)}")


def detect(path: str | Path, split: str) -> tuple[str, Path]:
    """(format, what to read) for a file or a folder; `split` chooses among a folder's files."""
    path = Path(path)
    if not path.exists():
        return _detect_absent(path, split)
    if path.is_dir():
        return _detect_folder(path, split)
    format = detect_file(path)
    if format == "json-lines" and is_split_file(path) and find_label_file(path.parent) is not None:
        return "lf", path
    return format, path


def _detect_absent(path: Path, split: str) -> tuple[str, Path]:
    """A pair of .npz files goes by its common name, which no file has."""
    from multitudes.data.npz_pair import is_npz_pair

    if not is_npz_pair(path, split):
        raise DataError(f"{path} does not exist: check the path")
    return "npz", path


def _detect_folder(folder: Path, split: str) -> tuple[str, Path]:
    if any(folder.glob("*.npz")):
        return "npz", folder
    if split_files(folder):
        file = find_split(folder, split)
        format = detect_file(file)
        return ("lf", folder) if format == "json-lines" else (format, file)
    present = ", ".join(sorted(file.name for file in folder.iterdir())[:8]) or "nothing"
    raise DataError(
        f"{folder} is not a data folder (it holds: {present}); expected a file per split, e.g. "
        "trn.jsonl and lbl.jsonl, or a pair of .npz files: name a file"
    )


def detect_file(path: Path) -> str:
    """The format of one file, from its first decompressed bytes."""
    head = peek(path, _PEEK_BYTES)
    if not head:
        raise DataError(f"{path} is empty; expected at least one line of data")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"PK\x03\x04"):
        return "npz"
    body = head.removeprefix(_BOM).lstrip()
    by_name = FORMAT_SUFFIXES.get(uncompressed_suffix(path))
    if body.startswith(b"{"):
        return "json-lines"
    if body.startswith(b"[") and by_name == "json-lines":
        raise DataError(
            f"{path} is one JSON array; expected one object per line: convert it, e.g. with  "
            "jq -c '.[]'"
        )
    if _is_sparse(head.removeprefix(_BOM)):
        return "sparse-text"
    first_line = body.split(b"\n", 1)[0]
    if by_name is None and (b"\x00" in head or not re.search(rb"[\t,;]", first_line)):
        raise _unknown(path)
    if by_name in _DELIMITED:
        return by_name
    if by_name is not None and not re.search(rb"[\t,;]", first_line):
        return by_name  # whose reader says what is wrong with it
    return "tsv" if b"\t" in first_line else "csv"


def _is_sparse(head: bytes) -> bool:
    lines = [line for line in head.split(b"\n")[:20] if line.strip()]
    if not lines:
        return False
    return bool(_SPARSE_HEADER.match(lines[0]) or _SPARSE_LINE.match(lines[0]))


def _unknown(path: Path) -> DataError:
    formats = "".join(f"\n  {name}: {sentence}" for name, sentence in FORMATS.items())
    return DataError(
        f"{path}: the format cannot be told from the content; name it, e.g. format='csv' "
        f"(--format csv); the formats are:{formats}"
    )
