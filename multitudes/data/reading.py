"""`read_dataset`: a Dataset from a file or folder of any known format."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from multitudes.data.compression import peek, reading, uncompressed_suffix
from multitudes.data.dataset import Dataset
from multitudes.data.folders import find_label_file, find_split, is_split_file, usual_splits
from multitudes.data.formats import (
    BUILT_IN,
    find_format,
    format_of_suffix,
    formats_of_packages,
    list_formats,
)
from multitudes.data.formats.delimited import CSV, TSV, looks_like_table
from multitudes.data.formats.format import Format
from multitudes.data.formats.json_lines import JSON_LINES
from multitudes.data.formats.lf import LF
from multitudes.data.formats.plain_lines import LINES
from multitudes.data.groups.folders import within_grouped_folder
from multitudes.data.label_space import LabelSpace, relabel
from multitudes.data.options import DEFAULT_READ, ReadOptions
from multitudes.data.report import ReadReport
from multitudes.data.vocabularies import named_by, read_vocabulary
from multitudes.errors import DataError
from multitudes.files.together import finish

_PEEK_BYTES = 1 << 16
_BOM = b"\xef\xbb\xbf"
# Anything may be called .txt, or have no suffix, e.g. stdin: there, reading goes by the content,
# and a table must look like one. What is nothing else is one text per line.
_TELLS_NOTHING = ("", ".txt")


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
    with reading(path):
        return _read(Path(path), format, labels, options)


def _read(
    path: Path, format: str | None, labels: LabelSpace | Dataset | None, options: ReadOptions
) -> Dataset:
    _settle(path)
    path, options = within_grouped_folder(path, options)
    if format is None:
        known, path = detect(path, options.split)
    else:
        known = find_format(format)
    known.check_instance_groups(options.instance_groups)
    space = LabelSpace.of(labels) if isinstance(labels, Dataset) else labels
    if options.vocabulary is None:
        dataset = known.read(path, options, labels=space)
    else:
        dataset = _read_named(known, path, options, space)
    report = ReadReport() if dataset.report is None else dataset.report
    return dataclasses.replace(dataset, report=dataclasses.replace(report, format=known.name))


def _settle(path: Path) -> None:
    """Finish what a killed writer of several files has left to do; see `multitudes.files`."""
    folder = path if path.is_dir() else path.parent
    try:
        finish(folder)
    except OSError as error:
        raise DataError(
            f"{folder} holds new files whose writer was killed before it had renamed all of them, "
            f"and they cannot be renamed now ({error.strerror or error}): read it once where it "
            "can be written to, or write it again"
        ) from error


def _read_named(
    format: Format, path: Path, options: ReadOptions, space: LabelSpace | None
) -> Dataset:
    """Read data whose labels are named by a vocabulary, then move it to the label space."""
    assert options.vocabulary is not None
    vocabulary = read_vocabulary(options.vocabulary, language=options.language)
    dataset = format.read(path, options, labels=None)
    dataset = named_by(dataset, vocabulary, Path(options.vocabulary).name)
    if space is None:
        return dataset
    return relabel(dataset, space, unknown_labels=options.unknown_labels, path=path)


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
    if not path.is_dir():
        raise DataError(
            f"{path} is a pipe, a socket or a device; expected a file or a folder: copy what it "
            "holds to a file"
        )
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
    if by_suffix is not None and suffix not in _TELLS_NOTHING:
        return by_suffix
    found = next((f for f in _guesses(head, suffix) if _sniffs(f, head)), None)
    if found is None:
        listed = "".join(f"\n  {format.name}: {format.summary}" for format in list_formats())
        raise DataError(
            f"{path}: cannot tell the format from the content; name it with format='csv' or the "
            f"like; the formats are:{listed}"
        )
    return found


def _guesses(head: bytes, suffix: str) -> Iterator[Format]:
    """Yield the formats to ask about content that is not certain, in turn."""
    tells_nothing = suffix in _TELLS_NOTHING
    others = () if suffix == ".txt" else formats_of_packages().formats
    yield from (format for format in others if format.certain)
    if not tells_nothing or looks_like_table(head):
        yield from (CSV, TSV)
    yield from (format for format in others if not format.certain)
    if tells_nothing:
        yield LINES


def _sniffs(format: Format, head: bytes) -> bool:
    return format.sniff is not None and format.sniff(head)
