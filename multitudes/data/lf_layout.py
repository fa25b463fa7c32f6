"""The LF layout: a folder with a file per split, one of labels, and filter pairs.

::

    trn.jsonl  tst.jsonl  [dev.jsonl]     {"uid", "title", "content", "labels": [label ids]}
    lbl.jsonl                             {"uid", "title"}, line number = label id
    filter_labels_train.txt  _test.txt    row and label to leave out of predictions

Any of them may be ``.json`` instead of ``.jsonl`` and compressed; ``target_ind`` may stand for
``labels``. One file of such a folder is read as a part of it too.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import orjson

from multitudes.data.compression import open_write, uncompressed_stem
from multitudes.data.dataset import Dataset
from multitudes.data.filter_file import read_filter_file, without_rows, write_filter_file
from multitudes.data.formats import DEFAULT_READ, DEFAULT_WRITE, ReadOptions, WriteOptions
from multitudes.data.json_lines import JsonLinesReader
from multitudes.data.label_file import find_label_file, read_label_file, write_label_file
from multitudes.data.label_numbering import LabelNumbering
from multitudes.data.label_space import LabelSpace, relabel
from multitudes.data.name_files import find_beside
from multitudes.data.split_files import find_split, split_of
from multitudes.data.writing import check_writable, encoding_checked, label_rows
from multitudes.errors import DataError
from multitudes.progress import track

FILTER_NAMES = {"trn": "train", "tst": "test"}
_ROWS_PER_WRITE = 1000


def read_lf(
    path: str | Path, options: ReadOptions = DEFAULT_READ, *, labels: LabelSpace | None = None
) -> Dataset:
    """Read one split of a folder in the LF layout, with its labels and filter pairs.

    Parameters
    ----------
    path : path
        The folder, of which `options.split` is read, or one file of it.
    options : ReadOptions
        The split, names of fields, and what to do with bad lines.
    labels : LabelSpace, optional
        The labels fixed beforehand; the folder's own are matched to them by name.
    """
    path = Path(path)
    file = find_split(path, options.split) if path.is_dir() else path
    label_file = find_label_file(file.parent)
    space = None if label_file is None else read_label_file(label_file)
    # A file of names beside a label file numbers its own names: ids alone refer to lines. With a
    # file of groups both mean the label file's, whichever of names and ids either of them has.
    grouped = options.group_labels is not None and space is not None
    numbering = LabelNumbering(options, space, for_ids_only=not grouped)
    of_groups = LabelNumbering(options, space) if grouped else None
    reader = JsonLinesReader(file, options, numbering, of_groups)
    dataset = reader.read()
    filter_file = _filter_file(file.parent, split_of(uncompressed_stem(file)))
    if filter_file is not None and numbering.kind != "names":
        pairs = read_filter_file(filter_file, n_rows=reader.n_rows, n_labels=dataset.n_labels)
        if reader.skipped_rows:
            pairs = without_rows(pairs, reader.skipped_rows, reader.n_rows)
        dataset = dataclasses.replace(dataset, filter_pairs=pairs)
    if labels is None:
        return dataset
    return relabel(dataset, labels, unknown_labels=options.unknown_labels)


def _filter_file(folder: Path, split: str) -> Path | None:
    return find_beside(folder, [f"filter_labels_{FILTER_NAMES.get(split, split)}.txt"])


def write_lf(dataset: Dataset, path: str | Path, options: WriteOptions = DEFAULT_WRITE) -> None:
    """Write one split into a folder, which is made if need be.

    The text goes to ``title``, labels are ids. The label file is written with the first split;
    a later one must have the same labels.
    """
    texts = check_writable(dataset, "lf")
    folder = Path(path)
    suffix = "" if options.compression == "none" else f".{options.compression}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot make the folder {folder}: {error.strerror or error}") from error
    write_label_file(dataset, folder, suffix)
    if dataset.filter_pairs is not None:
        name = FILTER_NAMES.get(options.split, options.split)
        write_filter_file(dataset.filter_pairs, folder / f"filter_labels_{name}.txt{suffix}")
    file = folder / f"{options.split}.jsonl{suffix}"
    with open_write(file) as stream, track(f"writing {file.name}", len(dataset)) as task:
        for start in range(0, len(dataset), _ROWS_PER_WRITE):
            rows = range(start, min(start + _ROWS_PER_WRITE, len(dataset)))
            labels = label_rows(dataset, rows, "ids")
            with encoding_checked(file):
                for row in rows:
                    record = _record(dataset, texts[row], row, labels[row - start])
                    stream.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
            task.advance(len(rows))


def _record(dataset: Dataset, text: str, row: int, labels: list[int]) -> dict[str, Any]:
    record: dict[str, Any] = {} if dataset.uids is None else {"uid": dataset.uids[row]}
    record |= {"title": text, "content": "", "labels": labels}
    if dataset.groups is not None:
        record["group"] = dataset.group_names_of(row)
    return record
