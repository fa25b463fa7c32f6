"""Annif's corpus of full texts: a folder with a file per document, and one with its subjects.

::

    doc1.txt  doc1.tsv      the text; a line per subject, <uri> and label with a tab between
    doc2.txt  doc2.key      the text; a label per line
    doc3.json               {"text": "...", "subjects": [{"uri": "...", "label": "..."}]}

Texts without subjects may have none of them. A folder may also hold such folders, named after the
splits: ``train``, ``test``. The name of a document without its suffix is its uid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from multitudes.data.compression import (
    encoding_checked,
    open_bytes,
    open_write,
    uncompressed_stem,
    uncompressed_suffix,
)
from multitudes.data.dataset import Dataset
from multitudes.data.folders import find_beside, is_split_file, split_of
from multitudes.data.formats.annif_tsv import in_brackets
from multitudes.data.formats.format import TEXTS, Format
from multitudes.data.formats.label_field import split_uris
from multitudes.data.formats.text_lines import one_line, text_rows
from multitudes.data.groups.files import with_groups
from multitudes.data.json_fields import label_of
from multitudes.data.label_numbering import LabelNumbering
from multitudes.data.label_space import LabelSpace
from multitudes.data.lines import parse_object
from multitudes.data.options import DEFAULT_READ, DEFAULT_WRITE, ReadOptions, WriteOptions
from multitudes.data.records import Columns, Records
from multitudes.data.report import ErrorLog, excerpt
from multitudes.errors import DataError
from multitudes.progress import track

DOCUMENT, JSON_DOCUMENT = ".txt", ".json"
SUBJECTS = (".tsv", ".key")
_BOM = b"\xef\xbb\xbf"
_FILE_NAME = re.compile(r"\w[\w.@+-]*")
_DOCUMENTS_AT_ONCE = 1000


def read_annif_folder(
    path: str | Path, options: ReadOptions = DEFAULT_READ, *, labels: LabelSpace | None = None
) -> Dataset:
    """Read a folder of documents, in the order of their names.

    A label is named by its URI if there is one, and else by what it is called.

    Parameters
    ----------
    path : path
        The folder, or one that has a folder per split.
    options : ReadOptions
        The split, and what to do with bad documents: `max_line_bytes` is the most that one holds.
    labels : LabelSpace, optional
        The label space to read over.
    """
    folder = _folder_of(Path(path), options.split)
    log = ErrorLog(options.on_error)
    numbering = LabelNumbering(options, labels)
    records = Records(folder, log, numbering)
    records.taken = "text: .txt files, labels: .tsv or .key files beside them, uid: file name"
    files = _documents(folder)
    with track(f"reading {folder.name}", len(files), "documents") as task:
        for start in range(0, len(files), _DOCUMENTS_AT_ONCE):
            batch = files[start : start + _DOCUMENTS_AT_ONCE]
            records.add(_columns(batch, options, records, numbering))
            task.advance(len(batch))
    dataset = records.dataset(options)
    n_labels = None if labels is None else dataset.n_labels
    return with_groups(dataset, options, n_labels=n_labels)


def _columns(
    files: list[Path], options: ReadOptions, records: Records, numbering: LabelNumbering
) -> Columns:
    texts: list[str] = []
    labels: list[list[Any]] = []
    uids: list[str] = []
    for file in files:
        try:
            text, found = _document(file, options.max_line_bytes, records.titles)
            problem = numbering.problem(found)
        except _BadDocumentError as bad:
            file, problem = bad.file, str(bad)
        if problem is not None:
            records.log.bad_line(f"{file}: {problem}")
            continue
        texts.append(text)
        labels.append(found)
        uids.append(uncompressed_stem(file))
    return Columns(texts, labels, uids=uids)


class _BadDocumentError(Exception):
    """What is wrong with a file, which the log then raises or skips."""

    def __init__(self, file: Path, problem: str) -> None:
        super().__init__(problem)
        self.file = file


def _document(file: Path, limit: int, titles: dict[str, str]) -> tuple[str, list[Any]]:
    """Return text and labels of a document."""
    if uncompressed_suffix(file) == JSON_DOCUMENT:
        return _json_document(file, limit, titles)
    text = _read(file, limit)
    subjects = find_beside(file.parent, [uncompressed_stem(file) + suffix for suffix in SUBJECTS])
    if subjects is None:
        return text, []
    lines = [line for line in _read(subjects, limit).split("\n") if line.strip()]
    if uncompressed_suffix(subjects) == ".key":
        return text, [line.strip() for line in lines]
    return text, [_subject(line, titles) for line in lines]


def _subject(line: str, titles: dict[str, str]) -> str:
    """Return the URI of a line of subjects, and note its label; further columns are ignored."""
    uri, _, rest = line.partition("\t")
    name = next(iter(split_uris(uri)), "")
    title = rest.partition("\t")[0].strip()
    if name and title:
        titles.setdefault(name, title)
    return name


def _json_document(file: Path, limit: int, titles: dict[str, str]) -> tuple[str, list[Any]]:
    record = parse_object(_read(file, limit).encode())
    if isinstance(record, str):
        raise _BadDocumentError(file, record.replace("the line is", "the file is"))
    text, subjects = record.get("text", ""), record.get("subjects", [])
    if not isinstance(text, str) or not isinstance(subjects, list):
        raise _BadDocumentError(
            file,
            f"not a document (got {excerpt(record)}); expected "
            '{"text": "...", "subjects": [{"uri": "..."}]}',
        )
    return text, [label_of(subject, titles) for subject in subjects]


def _read(file: Path, limit: int) -> str:
    with open_bytes(file) as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise _BadDocumentError(
            file, f"the file is longer than max_line_bytes ({limit:,} bytes): raise max_line_bytes"
        )
    try:
        return data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        raise _BadDocumentError(
            file,
            f"invalid UTF-8 at byte {error.start + 1} (got "
            f"{excerpt(data[error.start : error.start + 8])}); expected UTF-8: convert the file, "
            "e.g. with  iconv -t UTF-8",
        ) from error


# Which files -----------------------------------------------------------------------------------


def _documents(folder: Path) -> list[Path]:
    """Return the documents of a folder by name; of doc.txt and doc.json, the former."""
    found: dict[str, Path] = {}
    for suffix in (DOCUMENT, JSON_DOCUMENT):
        for file in sorted(folder.iterdir()):
            if uncompressed_suffix(file) == suffix and file.is_file():
                found.setdefault(uncompressed_stem(file), file)
    return [found[stem] for stem in sorted(found)]


def _folder_of(path: Path, split: str) -> Path:
    """Return the folder of the documents: the path itself, or the folder of the split in it."""
    for folder in _folders(path, split):
        if _has_documents(folder):
            return folder
    raise DataError(
        f"{path} holds no documents for the split {split!r}; expected files doc.txt with doc.tsv "
        f"or doc.key, in it or in a folder {split}"
    )


def _folders(path: Path, split: str) -> Iterator[Path]:
    if path.is_dir():
        yield path
        wanted = split_of(split)
        yield from sorted(p for p in path.iterdir() if p.is_dir() and split_of(p.name) == wanted)


def _has_documents(folder: Path) -> bool:
    """Return whether a folder holds texts with subjects beside them, or JSON documents.

    Files that are named after splits are no documents: they hold many.
    """
    files = (file for file in sorted(folder.iterdir()) if not is_split_file(file))
    for file in files:
        stem, suffix = uncompressed_stem(file), uncompressed_suffix(file)
        if suffix in SUBJECTS and find_beside(folder, [stem + DOCUMENT]) is not None:
            return True
        if suffix == JSON_DOCUMENT and _is_document(file):
            return True
    return False


def _is_document(file: Path) -> bool:
    try:
        record = parse_object(_read(file, 1 << 24).encode())
    except (_BadDocumentError, DataError):
        return False
    return isinstance(record, dict) and "text" in record and "subjects" in record


def _sniff_path(path: Path, split: str) -> bool:
    return any(map(_has_documents, _folders(path, split)))


# Writing ---------------------------------------------------------------------------------------


def write_annif_folder(
    dataset: Dataset, path: str | Path, options: WriteOptions = DEFAULT_WRITE
) -> None:
    """Write a ``.txt`` and a ``.tsv`` file per instance into a folder, which is created.

    Files are named by uids, or by the number of the instance if there are none.
    """
    folder = Path(path)
    names = _file_names(dataset, folder)
    titles = dataset.label_titles or dataset.label_names or ()
    titled = dict(zip(dataset.label_names or (), titles, strict=True))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot make the folder {folder}: {error.strerror or error}") from error
    rows = text_rows(dataset, options, format=ANNIF_FOLDER.name)
    with track(f"writing {folder.name}", len(dataset), "documents") as task:
        for name, (text, labels) in zip(names, rows, strict=True):
            lines = [
                f"{in_brackets(label, folder)}\t{one_line(titled.get(label, label))}\n"
                for label in labels
            ]
            with encoding_checked(folder):
                _write(folder / f"{name}{DOCUMENT}", text)
                _write(folder / f"{name}.tsv", "".join(lines))
            task.advance()


def _write(file: Path, content: str) -> None:
    with open_write(file) as stream:
        stream.write(content.encode())


def _file_names(dataset: Dataset, folder: Path) -> list[str]:
    if dataset.uids is None:
        width = len(str(len(dataset)))
        return [f"{row:0{width}}" for row in range(len(dataset))]
    seen: set[str] = set()
    for uid in dataset.uids:
        if not _FILE_NAME.fullmatch(uid) or uid in seen:
            raise DataError(
                f"cannot write {folder}: the uid {excerpt(uid)} cannot name a file of its own; "
                "expected different uids of letters, digits, dots and hyphens: change the uids, or "
                "leave them out"
            )
        seen.add(uid)
    return list(dataset.uids)


ANNIF_FOLDER = Format(
    name="annif-folder",
    summary="Annif's full texts, a folder of doc.txt with doc.tsv or doc.key",
    holds=TEXTS,
    sniff_path=_sniff_path,
    read=read_annif_folder,
    write=write_annif_folder,
)
