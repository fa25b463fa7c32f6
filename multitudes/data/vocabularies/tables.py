"""Vocabularies in tables: Annif's TSV and CSV, and JSON lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from multitudes.data.field_names import listed
from multitudes.data.lines import json_objects, line_blocks
from multitudes.data.report import ErrorLog, excerpt
from multitudes.data.vocabularies.concepts import UNTAGGED, Concept
from multitudes.errors import DataError

_MAX_LINE_BYTES = 1 << 24
_URIS = ("uri", "uid", "id")
_TITLES = ("title", "label", "prefLabel", "name")
_ALTERNATIVES = ("alternatives", "altLabels", "altLabel")


def read_table_concepts(path: Path, kind: str) -> dict[str, Concept]:
    """Return the concepts of a table by URI; `kind` is its suffix."""
    if kind == ".tsv":
        rows = _tsv_rows(path)
    elif kind == ".csv":
        rows = _csv_rows(path)
    else:
        rows = _json_rows(path)
    concepts: dict[str, Concept] = {}
    for line, uri, titles, extra in rows:
        uri = uri.strip().removeprefix("<").removesuffix(">")
        if not uri:
            raise DataError(f"{path}:{line}: a concept has no URI; expected one in each line")
        concept = concepts.setdefault(uri, Concept())
        for language, title in titles.items():
            if title.strip():
                concept.titles.setdefault(language, title.strip())
        concept.notations += [note for note in extra.get("notations", ()) if note]
        if extra.get("alternatives"):
            language = next(iter(titles), UNTAGGED)
            concept.alternatives.setdefault(language, []).extend(extra["alternatives"])
    return concepts


_Row = tuple[int, str, dict[str, str], dict[str, list[str]]]


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    for block in line_blocks(path, ErrorLog("strict"), max_line_bytes=_MAX_LINE_BYTES):
        for number, line in enumerate(block.data.split(b"\n"), block.first_line):
            try:
                yield number, line.removesuffix(b"\r").decode()
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{path}:{number}: invalid UTF-8 (got {excerpt(line[error.start :][:8])}); "
                    "expected UTF-8: convert the file, e.g. with  iconv -t UTF-8"
                ) from error


def _tsv_rows(path: Path) -> Iterator[_Row]:
    """Yield the rows of ``<uri>TAB label [TAB notation]``."""
    for number, line in _lines(path):
        if not line.strip():
            continue
        uri, tab, rest = line.partition("\t")
        if not tab:
            raise DataError(
                f"{path}:{number}: there is no tab (got {excerpt(line)}); expected <uri>, a tab, "
                "and the label"
            )
        title, _, notation = rest.partition("\t")
        yield number, uri, {UNTAGGED: title}, {"notations": [notation.strip()]}


def _csv_rows(path: Path) -> Iterator[_Row]:
    """Yield the rows of a table with the columns uri, label_en, label_fr, ..., notation."""
    text = "\n".join(line for _, line in _lines(path))
    reader = csv.DictReader(io.StringIO(text), strict=True)
    try:
        languages = _language_columns(list(reader.fieldnames or ()), path)
        for row in reader:
            titles = {languages[name]: row[name] or "" for name in languages}
            notations = [(row.get("notation") or "").strip()]
            yield reader.line_num, row["uri"] or "", titles, {"notations": notations}
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num}: broken quoting ({error})") from error


def _language_columns(names: list[str], path: Path) -> dict[str, str]:
    """Return the language of each column of labels."""
    languages = {
        name: name.partition("_")[2].lower() or UNTAGGED
        for name in names
        if name == "label" or name.startswith("label_")
    }
    if "uri" not in names or not languages:
        raise DataError(
            f"{path}:1: not a vocabulary (got columns {listed(names)}); expected the columns uri "
            "and label_en (or another language)"
        )
    return languages


def _json_rows(path: Path) -> Iterator[_Row]:
    """Yield the rows of JSON lines with a URI and a title, e.g. of a label file."""
    for number, record in json_objects(path, ErrorLog("strict"), max_line_bytes=_MAX_LINE_BYTES):
        uri, title = _first(record, _URIS), _first(record, _TITLES)
        if not isinstance(uri, (str, int)) or not isinstance(title, str):
            raise DataError(
                f"{path}:{number}: not a concept (got {excerpt(record)}); expected "
                '{"uri": "...", "title": "..."}'
            )
        others = _first(record, _ALTERNATIVES) or []
        if not isinstance(others, list) or not all(isinstance(name, str) for name in others):
            raise DataError(
                f"{path}:{number}: the alternative names are not a list (got {excerpt(others)})"
            )
        yield number, str(uri), {UNTAGGED: title}, {"alternatives": others}


def _first(record: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((record[name] for name in names if name in record), None)
