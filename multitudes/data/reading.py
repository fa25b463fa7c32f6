"""`read_dataset`: a Dataset from a file or folder of any known format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from multitudes.data.compression import peek, uncompressed_suffix
from multitudes.data.dataset import Dataset
from multitudes.data.folders import find_label_file, find_split, is_split_file, usual_splits
from multitudes.data.formats import (
    BUILT_IN,
    find_format,
    format_of_suffix,
    formats_of_packages,
    list_formats,
)
from multitudes.data.formats.format import Format
from multitudes.data.formats.json_lines import JSON_LINES
from multitudes.data.formats.lf import LF
from multitudes.data.label_space import LabelSpace
from multitudes.data.options import DEFAULT_READ, ReadOptions
from multitudes.errors import DataError

_PEEK_BYTES = 1 << 16
_BOM = b"\xef\xbb\xbf"
# Tables and lists of texts are called .txt as well, so that reading goes by the content first.
_TELLS_NOTHING = ".txt"


def read_dataset(
    path: str | Path,
    *,
    format: str | None = None,
    labels: LabelSpace | Dataset | None = None,
    options: ReadOptions = DEFAULT_READ,
) -> Dataset:
    """Read a file or a folder.

    Parameters
    ----------
    path : path
        A file, compressed or not (gz, xz, bz2, zst), or a folder with a file per split.
    format : str, optional
        The name of a format, see `list_formats`. By default the content tells the format if it
        is certain, e.g. by a mark at the start, and the suffix otherwise.
    labels : LabelSpace or Dataset, optional
        The labels to read over, e.g. those of the training data: ids then agree, and names
        outside them are dropped and counted in the report.
    options : ReadOptions
        Columns, separators, the split of a folder, what to do with bad lines.

    Returns
    -------
    Dataset
        Its `report` says what was left out.

    Examples
    --------
    >>> train = read_dataset("train.jsonl")                                 # doctest: +SKIP
    >>> test = read_dataset("test.jsonl", labels=train)                     # doctest: +SKIP
    """
    path = Path(path)
    if format is None:
        known, path = detect(path, options.split)
    else:
        known = find_format(format)
    known.check_instance_groups(options.instance_groups)
    space = LabelSpace.of(labels) if isinstance(labels, Dataset) else labels
    return known.read(path, options, labels=space)


def detect(path: Path, split: str) -> tuple[Format, Path]:
    """Return the format of a file or a folder, and what to read: a folder's file of the `split`."""
    if path.is_file():
        format = detect_file(path)
        is_part = is_split_file(path) and find_label_file(path.parent) is not None
        return (LF if format is JSON_LINES and is_part else format), path
    for formats in _in_turn():
        for format in formats:
            if format.sniff_path is not None and format.sniff_path(path, split):
                return format, path
        suffixes = [suffix for format in formats for suffix in format.suffixes]
        if path.is_dir() and usual_splits(path, suffixes):
            file = find_split(path, split, suffixes)
            format = detect_file(file)
            return (LF if format is JSON_LINES else format), file
    if not path.exists():
        raise DataError(f"{path} does not exist: check the path")
    present = ", ".join(sorted(file.name for file in path.iterdir())[:8]) or "nothing"
    raise DataError(
        f"{path} is not a data folder (it holds: {present}); expected a file per split, e.g. "
        "trn.jsonl and lbl.jsonl, or a pair of .npz files: name a file"
    )


def _in_turn() -> Iterator[tuple[Format, ...]]:
    """Yield the formats of multitudes, then, if it comes to that, those of other packages."""
    yield BUILT_IN
    yield formats_of_packages().formats


def detect_file(path: Path) -> Format:
    """Return the format of one file, from its first decompressed bytes and its suffix.

    Content that is certainly of a format outweighs the suffix, which outweighs a guess.
    """
    head = peek(path, _PEEK_BYTES)
    if not head:
        raise DataError(f"{path} is empty; expected at least one line of data")
    head = head.removeprefix(_BOM)
    suffix = uncompressed_suffix(path)
    by_suffix = format_of_suffix(suffix)
    if by_suffix is not None and by_suffix.certain and _sniffs(by_suffix, head):
        return by_suffix
    found = next((f for f in BUILT_IN if f.certain and _sniffs(f, head)), None)
    if found is not None:
        return found
    if by_suffix is JSON_LINES and head.lstrip().startswith(b"["):
        raise DataError(
            f"{path} is one JSON array; expected one object per line: convert it, e.g. with  "
            "jq -c '.[]'"
        )
    if by_suffix is not None and suffix != _TELLS_NOTHING:
        return by_suffix
    others = formats_of_packages().formats if by_suffix is None else ()
    candidates = sorted((*BUILT_IN, *others), key=lambda f: not f.certain)
    # If nothing fits, the reader of the suffix's format says what is wrong.
    found = next((f for f in candidates if _sniffs(f, head)), by_suffix)
    if found is None:
        listed = "".join(f"\n  {format.name}: {format.summary}" for format in list_formats())
        raise DataError(
            f"{path}: cannot tell the format from the content; name it, e.g. format='csv' "
            f"(--format csv); the formats are:{listed}"
        )
    return found


def _sniffs(format: Format, head: bytes) -> bool:
    return format.sniff is not None and format.sniff(head)
