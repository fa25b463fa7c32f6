"""Names of labels and features, in files beside a file of numbers.

``lbl.jsonl`` has one object per label, its id being the line: ``{"uid": ..., "title": ...}``;
``features.txt`` has one name per line. Either may be compressed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from multitudes.data.compression import SUFFIXES, open_write
from multitudes.data.dataset import Dataset
from multitudes.data.json_objects import json_objects
from multitudes.data.lines import line_blocks
from multitudes.data.report import ErrorLog
from multitudes.errors import DataError

LABEL_FILES = ("lbl.jsonl", "lbl.json")
FEATURE_FILES = ("features.txt",)
MAX_NAME_BYTES = 1 << 20


def find_beside(folder: Path, names: Sequence[str]) -> Path | None:
    """The first of the named files in a folder, compressed or not."""
    for name in names:
        for suffix in ("", *SUFFIXES):
            if (folder / (name + suffix)).is_file():
                return folder / (name + suffix)
    return None


def read_label_names(path: Path) -> list[str]:
    """The title of each line, or its uid where it has no title.

    Titles that several labels share get their uid in brackets, or their line number where they
    have none, so that names are unique.
    """
    titles, uids = [], []
    log = ErrorLog("raise")
    for line, record in json_objects(path, log, max_line_bytes=MAX_NAME_BYTES):
        uid = record.get("uid", line)
        title = record.get("title", record.get("uid"))
        if not isinstance(title, str):
            raise DataError(
                f"{path}:{line}: a label has no name (got {str(record)[:60]!r}); expected "
                '{"uid": "...", "title": "..."}'
            )
        titles.append(title)
        uids.append(uid)
    counts = Counter(titles)
    return [
        title if counts[title] == 1 else f"{title} [{uid}]"
        for title, uid in zip(titles, uids, strict=True)
    ]


def read_feature_names(path: Path) -> list[str]:
    """The lines of a file."""
    names: list[str] = []
    for block in line_blocks(path, ErrorLog("raise"), max_line_bytes=MAX_NAME_BYTES):
        try:
            text = block.data.decode()
        except UnicodeDecodeError as error:
            line = block.first_line + block.data[: error.start].count(b"\n")
            raise DataError(
                f"{path}:{line}: invalid UTF-8 (got byte {block.data[error.start]:#04x}); expected "
                "one name per line in UTF-8: convert the file"
            ) from error
        names += [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    return names


@dataclass(frozen=True)
class Names:
    """The names found in a folder, and where; None where there is no file."""

    labels: Sequence[str] | None = None
    features: Sequence[str] | None = None
    label_path: Path | None = None
    feature_path: Path | None = None

    def check(self, n_labels: int, n_features: int) -> None:
        """Names must be as many as the data has columns."""
        _check_count(self.label_path, self.labels, n_labels, "labels")
        _check_count(self.feature_path, self.features, n_features, "features")


def names_beside(folder: Path) -> Names:
    """The names of labels and features that a folder holds."""
    label_path = find_beside(folder, LABEL_FILES)
    feature_path = find_beside(folder, FEATURE_FILES)
    return Names(
        labels=None if label_path is None else read_label_names(label_path),
        features=None if feature_path is None else read_feature_names(feature_path),
        label_path=label_path,
        feature_path=feature_path,
    )


def _check_count(path: Path | None, names: Sequence[str] | None, expected: int, what: str) -> None:
    if names is not None and len(names) != expected:
        raise DataError(
            f"{path} names {len(names):,} {what}, but the data beside it has {expected:,}: "
            "correct either, or move the file of names away"
        )


def write_names(folder: Path, dataset: Dataset) -> None:
    """Write the files of names of a Dataset that has names."""
    if dataset.label_names:
        write_label_names(folder, dataset.label_names)
    if dataset.feature_names:
        write_feature_names(folder, dataset.feature_names)


def write_label_names(folder: Path, names: Sequence[str]) -> None:
    """Write ``lbl.jsonl``, unless the folder has the same names already."""
    present = find_beside(folder, LABEL_FILES)
    if present is not None:
        _check_same(present, read_label_names(present), names)
        return
    with open_write(folder / LABEL_FILES[0]) as stream:
        stream.writelines(
            orjson.dumps({"uid": str(label), "title": name}, option=orjson.OPT_APPEND_NEWLINE)
            for label, name in enumerate(names)
        )


def write_feature_names(folder: Path, names: Sequence[str]) -> None:
    """Write ``features.txt``, unless the folder has the same names already."""
    present = find_beside(folder, FEATURE_FILES)
    if present is not None:
        _check_same(present, read_feature_names(present), names)
        return
    broken = next((name for name in names if "\n" in name or name.endswith("\r")), None)
    if broken is not None:
        raise DataError(
            f"{folder / FEATURE_FILES[0]} holds one feature name per line, so a name cannot hold a "
            f"line end (got {broken!r}): rename it, or drop feature_names"
        )
    with open_write(folder / FEATURE_FILES[0]) as stream:
        stream.writelines(name.encode() + b"\n" for name in names)


def _check_same(path: Path, present: Sequence[str], names: Sequence[str]) -> None:
    if list(present) != list(names):
        raise DataError(
            f"{path} already holds other names than the ones to write: write to another folder, "
            "remove it, or write without names (label_kind='ids')"
        )
