"""One text per line, without labels: what is there to predict for."""

from __future__ import annotations

from pathlib import Path

from multitudes.data.dataset import Dataset
from multitudes.data.formats.format import TEXTS, Format, lost_uids
from multitudes.data.formats.text_lines import Parsed, read_text_lines, write_text_lines
from multitudes.data.label_space import LabelSpace
from multitudes.data.options import DEFAULT_READ, DEFAULT_WRITE, ReadOptions, WriteOptions
from multitudes.errors import DataError


def read_plain_lines(
    path: str | Path, options: ReadOptions = DEFAULT_READ, *, labels: LabelSpace | None = None
) -> Dataset:
    """Read one text per line; a blank line is an empty text, so that rows are line numbers.

    Parameters
    ----------
    path : path
        The file, compressed or not.
    options : ReadOptions
        What to do with bad lines.
    labels : LabelSpace, optional
        The label space of the Dataset, whose instances have no labels.
    """
    path = Path(path)
    if options.require_labels:
        raise DataError(
            f"{path} is read as plain text, one text per line without labels; expected labels, "
            "e.g. as __label__a __label__b text (fastText), as a table with a column of labels, or "
            'as JSON lines, {"text": ..., "labels": [...]}: if it is a table, set format=\'csv\' '
            "or format='tsv'"
        )
    taken = "text: one per line, labels: none"
    return read_text_lines(path, options, _parse, labels=labels, taken=taken, blank_lines=True)


def _parse(line: str) -> Parsed:
    return line, None


def write_plain_lines(
    dataset: Dataset, path: str | Path, options: WriteOptions = DEFAULT_WRITE
) -> None:
    """Write the texts alone; line ends and tabs in them become spaces."""
    write_text_lines(dataset, path, options, lambda text, labels: text, format=LINES.name)


def _loses(dataset: Dataset, options: WriteOptions) -> list[str]:
    labels = ["the labels are not written: this format has none"] if dataset.Y.nnz else []
    return [*labels, *lost_uids(dataset)]


def _sniff(head: bytes) -> bool:
    # UTF-16 is let through, so that the reader says what it is.
    return b"\x00" not in head or head.startswith((b"\xff\xfe", b"\xfe\xff"))


LINES = Format(
    name="lines",
    summary="one text per line, without labels, to predict for",
    holds=TEXTS,
    sniff=_sniff,
    certain=False,
    read=read_plain_lines,
    write=write_plain_lines,
    loses=_loses,
)
