"""Annif's corpus of short texts: ``text<TAB><uri> <uri> ...``, one document per line.

Quotes mean nothing. Annif's other corpora are a CSV table with the columns ``text`` and
``subject_uris`` and JSON lines with ``text`` and ``subjects``, which are read as any table and
any JSON lines are, and folders (`annif_folder`).
"""

from __future__ import annotations

import re
from pathlib import Path

from multitudes.data.dataset import Dataset
from multitudes.data.formats.format import TEXTS, Format, lost_uids
from multitudes.data.formats.label_field import split_uris
from multitudes.data.formats.text_lines import (
    Parsed,
    first_lines,
    read_text_lines,
    write_text_lines,
)
from multitudes.data.label_space import LabelSpace
from multitudes.data.options import DEFAULT_READ, DEFAULT_WRITE, ReadOptions, WriteOptions
from multitudes.data.report import excerpt
from multitudes.errors import DataError

_LINE = re.compile(rb"[^\t]*\t(?P<uris>\s*(?:<[^<>\s]+>\s*)*)")
_CANNOT_HOLD = re.compile(r"[\s<>]")


def read_annif_tsv(
    path: str | Path, options: ReadOptions = DEFAULT_READ, *, labels: LabelSpace | None = None
) -> Dataset:
    """Read texts with the URIs of their subjects; angle brackets are left out of label names.

    Parameters
    ----------
    path : path
        The file, compressed or not.
    options : ReadOptions
        What to do with bad lines, and a `vocabulary` for names of the labels.
    labels : LabelSpace, optional
        The label space to read over.
    """

    def parse(line: str) -> Parsed | str:
        text, tab, uris = line.partition("\t")
        if not tab:
            return (
                f"there is no tab between text and labels (got {excerpt(line)}); expected "
                "text<TAB><uri> <uri>: put a tab at the end of a text without labels"
            )
        return text, split_uris(uris)

    taken = "text: before the tab, labels: URIs after it"
    return read_text_lines(Path(path), options, parse, labels=labels, taken=taken)


def write_annif_tsv(
    dataset: Dataset, path: str | Path, options: WriteOptions = DEFAULT_WRITE
) -> None:
    """Write a line per text; line ends and tabs in texts become spaces.

    Labels should be URIs; one that holds blanks or angle brackets is an error.
    """

    def line(text: str, labels: list[str]) -> str:
        return f"{text}\t{' '.join(in_brackets(label, path) for label in labels)}"

    write_text_lines(dataset, path, options, line, format=ANNIF_TSV.name)


def in_brackets(label: str, path: str | Path) -> str:
    """Return a label as ``<label>``, or raise if it cannot be a URI."""
    if _CANNOT_HOLD.search(label):
        raise DataError(
            f"cannot write {path}: the label {excerpt(label)} holds blanks or angle brackets; "
            "expected URIs, as Annif has them: write json-lines or csv"
        )
    return f"<{label}>"


def _sniff(head: bytes) -> bool:
    found = [_LINE.fullmatch(line) for line in first_lines(head)]
    return any(match and match["uris"].strip() for match in found) and all(found)


ANNIF_TSV = Format(
    name="annif-tsv",
    summary="Annif's short texts, text<TAB><uri> <uri> per line",
    holds=TEXTS,
    sniff=_sniff,
    read=read_annif_tsv,
    write=write_annif_tsv,
    loses=lambda dataset, options: lost_uids(dataset),
)
