"""fastText: labels with a prefix, then the text: ``__label__belts __label__brown a brown belt``.

Any word that starts with the prefix is a label, as in fastText itself, so labels may also be at
the end. fastText separates words by blanks: labels that hold one cannot be written as they are,
and get ``_`` in its place.
"""

from __future__ import annotations

import re
from pathlib import Path

from multitudes.data.dataset import Dataset
from multitudes.data.formats.format import TEXTS, Format, lost_uids
from multitudes.data.formats.text_lines import Parsed, read_text_lines, write_text_lines
from multitudes.data.label_space import LabelSpace
from multitudes.data.options import DEFAULT_READ, DEFAULT_WRITE, ReadOptions, WriteOptions
from multitudes.data.report import excerpt
from multitudes.errors import DataError

PREFIX = "__label__"
_BLANKS = re.compile(r"\s+")


def read_fasttext(
    path: str | Path, options: ReadOptions = DEFAULT_READ, *, labels: LabelSpace | None = None
) -> Dataset:
    """Read fastText's format for training.

    Parameters
    ----------
    path : path
        The file, compressed or not.
    options : ReadOptions
        `label_prefix`, and what to do with bad lines.
    labels : LabelSpace, optional
        The label space to read over.
    """
    # ASCII, because fastText separates words by ASCII blanks alone.
    label = re.compile(rf"(?<!\S){re.escape(options.label_prefix)}(\S*)", re.ASCII)

    def parse(line: str) -> Parsed:
        found = label.findall(line)
        return (label.sub("", line) if found else line).strip(" \t\r\v\f\0"), found

    taken = f"text: words, labels: words that start with {options.label_prefix}"
    return read_text_lines(Path(path), options, parse, labels=labels, taken=taken)


def write_fasttext(
    dataset: Dataset, path: str | Path, options: WriteOptions = DEFAULT_WRITE
) -> None:
    """Write labels, then the text, on one line: line ends and tabs in texts become spaces.

    A blank in a label becomes ``_``; two labels that would then be one are an error.
    """
    prefix = options.label_prefix
    names = (dataset.label_names or ()) if options.writes_names(dataset) else ()
    written = {name: _BLANKS.sub("_", name) for name in names}
    _check_different(written, path)

    def line(text: str, labels: list[str]) -> str:
        if any(word.startswith(prefix) for word in text.split()):
            raise DataError(
                f"cannot write {path}: a text holds a word that starts with {prefix!r} (got "
                f"{excerpt(text)}), which would be read as a label: choose another label_prefix"
            )
        return " ".join([*(f"{prefix}{written.get(label, label)}" for label in labels), text])

    write_text_lines(dataset, path, options, line, format=FASTTEXT.name)


def _check_different(written: dict[str, str], path: str | Path) -> None:
    by_form: dict[str, str] = {}
    for name, form in written.items():
        if by_form.setdefault(form, name) != name:
            raise DataError(
                f"cannot write {path}: fastText separates words by blanks, so blanks in labels "
                f"become '_', and {excerpt(by_form[form])} and {excerpt(name)} would be one "
                "label: rename one, or write json-lines"
            )


def _loses(dataset: Dataset, options: WriteOptions) -> list[str]:
    names = (dataset.label_names or ()) if options.writes_names(dataset) else ()
    renamed = [name for name in names if _BLANKS.search(name)]
    if not renamed:
        return lost_uids(dataset)
    example = f"{renamed[0]!r} as {_BLANKS.sub('_', renamed[0])}"
    sentence = f"{len(renamed):,} labels hold blanks and are written with _, e.g. {example}"
    return [sentence, *lost_uids(dataset)]


def _sniff(head: bytes) -> bool:
    first = next((line for line in head.split(b"\n") if line.strip()), b"")
    words = first.split()
    mark = PREFIX.encode()
    return bool(words) and (words[0].startswith(mark) or words[-1].startswith(mark))


FASTTEXT = Format(
    name="fasttext",
    summary="fastText's __label__a __label__b text, a line each",
    suffixes=(".ft", ".fasttext"),
    holds=TEXTS,
    sniff=_sniff,
    read=read_fasttext,
    write=write_fasttext,
    loses=_loses,
)
