"""The label file of the LF layout, ``lbl.jsonl``: line number = label id.

``{"uid": "100142", "title": "trade policy"}``: the title is the label's name and its text, with
``content`` after it where there is one. Names must be unique, titles need not be: a title that
several labels share becomes ``title [uid]`` in their names (the line number where there is no
uid), and stays as it is in their texts.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import orjson

from multitudes.data.compression import open_write
from multitudes.data.dataset import Dataset
from multitudes.data.json_objects import json_objects
from multitudes.data.label_space import LabelSpace
from multitudes.data.name_files import LABEL_FILES, find_beside
from multitudes.data.record_fields import join_parts
from multitudes.data.report import ErrorLog, excerpt
from multitudes.data.writing import encoding_checked
from multitudes.errors import DataError

_MAX_LINE_BYTES = 1 << 24


def find_label_file(folder: Path) -> Path | None:
    """The label file of a folder, compressed or not; None where there is none."""
    return find_beside(folder, LABEL_FILES)


def read_label_file(path: str | Path) -> LabelSpace:
    """Names and texts of all labels. Bad lines cannot be skipped here: ids would shift."""
    titles: list[str] = []
    uids: list[str] = []
    texts: list[str] = []
    for line, record in json_objects(path, ErrorLog("raise"), max_line_bytes=_MAX_LINE_BYTES):
        if line != len(titles) + 1:
            raise DataError(
                f"{path}:{line - 1}: a blank line; expected one label per line, as the line "
                "number is the label id: remove the line, or write the label"
            )
        uid = record.get("uid", line)
        title = record.get("title") or str(record.get("uid", ""))
        text = record.get("text", join_parts(record.get("title", ""), record.get("content", "")))
        if not isinstance(title, str) or not isinstance(text, str) or not title:
            raise DataError(
                f"{path}:{line}: a label has no name (got {excerpt(record)}); expected "
                '{"uid": "...", "title": "..."} with strings'
            )
        titles.append(title)
        uids.append(str(uid))
        texts.append(text)
    return LabelSpace(_unique(titles, uids), texts)


def _unique(titles: list[str], uids: list[str]) -> list[str]:
    counts = Counter(titles)
    names = [
        title if counts[title] == 1 else f"{title} [{uid}]"
        for title, uid in zip(titles, uids, strict=True)
    ]
    # Two labels of one title and one uid, or a title that looks like another's name.
    counts = Counter(names)
    return [name if counts[name] == 1 else f"{name} #{label}" for label, name in enumerate(names)]


def write_label_file(dataset: Dataset, folder: Path, suffix: str = "") -> None:
    """Write ``lbl.jsonl``, or check that the one already there holds the same labels."""
    space = LabelSpace.of(dataset)
    present = find_label_file(folder)
    if present is not None:
        if read_label_file(present).names != space.names:
            raise DataError(
                f"{present} already holds other labels than the {len(space):,} to write: write "
                "to another folder"
            )
        return
    path = folder / f"{LABEL_FILES[0]}{suffix}"
    with open_write(path) as stream, encoding_checked(path):
        for label, name in enumerate(space.names):
            record: dict[str, Any] = {"uid": str(label), "title": name}
            if space.texts is not None and space.texts[label] != name:
                record["text"] = space.texts[label]
            stream.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
