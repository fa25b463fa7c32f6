"""What else a folder of data holds: a file per split, the names of labels and of features.

Splits
    ``trn.jsonl.xz``, ``test.txt``, ``dev.csv``, ...
The label file, ``lbl.jsonl``
    ``{"uid": "100142", "title": "trade policy"}``, line number = label id. The title is the label's
    name and its text, followed by ``content`` if there is one. Names must be unique, titles need
    not be: a title that several labels share becomes ``title [uid]`` in their names (the line
    number if there is no uid), and stays as it is in their texts.
The feature file, ``features.txt``
    One name per line, in the order of the columns of X.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from multitudes.data.compression import (
    SUFFIXES,
    encoding_checked,
    open_write,
    uncompressed_stem,
    uncompressed_suffix,
)
from multitudes.data.dataset import Dataset
from multitudes.data.field_names import join_parts
from multitudes.data.label_space import LabelSpace
from multitudes.data.lines import json_objects, line_blocks
from multitudes.data.report import ErrorLog, excerpt
from multitudes.errors import DataError
from multitudes.types import Sparse

SPLITS = {
    "trn": ("trn", "train", "training"),
    "tst": ("tst", "test"),
    "dev": ("dev", "val", "valid", "validation"),
}
LABEL_FILES = ("lbl.jsonl", "lbl.json")
FEATURE_FILE = "features.txt"
_MAX_LABEL_BYTES = 1 << 24
_MAX_FEATURE_BYTES = 1 << 20


def find_beside(folder: Path, names: Sequence[str]) -> Path | None:
    """Return the first of the named files in a folder, compressed or not."""
    for name in names:
        for suffix in ("", *SUFFIXES):
            if (folder / (name + suffix)).is_file():
                return folder / (name + suffix)
    return None


# Splits ----------------------------------------------------------------------------------------


def split_of(name: str) -> str:
    """Return the usual name of a split, ``trn`` for ``train``; other names stay as they are."""
    return next((split for split, names in SPLITS.items() if name.lower() in names), name)


def is_split_file(path: Path) -> bool:
    """Return whether a file is named after one of the usual splits."""
    return split_of(uncompressed_stem(path)) in SPLITS


def usual_splits(folder: Path, suffixes: Collection[str]) -> list[str]:
    """Return the usual splits that a folder has files of, among files with these suffixes."""
    files = _data_files(folder, suffixes)
    return list(dict.fromkeys(split_of(uncompressed_stem(f)) for f in files if is_split_file(f)))


def find_split(folder: Path, split: str, suffixes: Collection[str]) -> Path:
    """Return the one file of a split; none or several are an error that says what there is."""
    wanted = split_of(split)
    files = [
        file
        for file in _data_files(folder, suffixes)
        if split_of(uncompressed_stem(file)) == wanted
    ]
    if len(files) == 1:
        return files[0]
    if files:
        names = ", ".join(file.name for file in files)
        raise DataError(
            f"{folder} has several files for the split {split!r} (got {names}); expected one: "
            "name the file itself"
        )
    present = ", ".join(usual_splits(folder, suffixes)) or "none"
    raise DataError(
        f"{folder} has no file for the split {split!r} (it has: {present}); expected e.g. "
        f"{wanted}.jsonl: name the file itself, or choose with split='tst' or the like"
    )


def _data_files(folder: Path, suffixes: Collection[str]) -> list[Path]:
    files = [file for file in folder.iterdir() if uncompressed_suffix(file) in suffixes]
    return sorted(file for file in files if file.is_file())


# Names of labels -------------------------------------------------------------------------------


def find_label_file(folder: Path) -> Path | None:
    """Return the label file of a folder, compressed or not; None if there is no such file."""
    return find_beside(folder, LABEL_FILES)


def read_label_file(path: str | Path) -> LabelSpace:
    """Read names and texts of all labels. Bad lines cannot be skipped here: ids would shift."""
    titles: list[str] = []
    uids: list[str] = []
    texts: list[str] = []
    for line, record in json_objects(path, ErrorLog("strict"), max_line_bytes=_MAX_LABEL_BYTES):
        if line != len(titles) + 1:
            raise DataError(
                f"{path}:{line - 1}: a blank line; expected one label per line, as the line "
                "number is the label id: remove the line, or write the label"
            )
        uid = record.get("uid", line)
        title = record.get("title") or str(record.get("uid", ""))
        parts = [record.get("title") or "", record.get("content") or ""]
        text = record.get("text", parts)
        if text is parts and set(map(type, parts)) == {str}:
            text = join_parts(*parts)
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
    """Write ``lbl.jsonl``, or check that the existing one holds the same labels."""
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


# Names of features -----------------------------------------------------------------------------


def find_feature_file(folder: Path) -> Path | None:
    """Return the feature file of a folder, compressed or not; None if there is no such file."""
    return find_beside(folder, [FEATURE_FILE])


def read_feature_file(path: Path) -> list[str]:
    """Read the names of all features."""
    names: list[str] = []
    for block in line_blocks(path, ErrorLog("strict"), max_line_bytes=_MAX_FEATURE_BYTES):
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


def write_feature_file(names: Sequence[str], folder: Path) -> None:
    """Write ``features.txt``, or check that the existing one holds the same names."""
    present = find_feature_file(folder)
    if present is not None:
        if read_feature_file(present) != list(names):
            raise DataError(
                f"{present} already holds other names than the {len(names):,} to write: write to "
                "another folder"
            )
        return
    path = folder / FEATURE_FILE
    broken = next((name for name in names if "\n" in name or name.endswith("\r")), None)
    if broken is not None:
        raise DataError(
            f"{path} holds one feature name per line, so a name cannot hold a line end "
            f"(got {broken!r}): rename it, or drop feature_names"
        )
    with open_write(path) as stream, encoding_checked(path):
        stream.writelines(name.encode() + b"\n" for name in names)


# Both, beside a file of numbers ----------------------------------------------------------------


@dataclass(frozen=True)
class NamesBeside:
    """The names found in a folder, and the files they are from; None if there is no file."""

    labels: LabelSpace | None = None
    features: Sequence[str] | None = None
    label_path: Path | None = None
    feature_path: Path | None = None

    @classmethod
    def of(cls, folder: Path) -> NamesBeside:
        """Read the names that a folder holds."""
        label_path, feature_path = find_label_file(folder), find_feature_file(folder)
        return cls(
            labels=None if label_path is None else read_label_file(label_path),
            features=None if feature_path is None else read_feature_file(feature_path),
            label_path=label_path,
            feature_path=feature_path,
        )

    def dataset(self, X: Sparse, Y: Sparse) -> Dataset:
        """Return X and Y with their names, one per column."""
        if self.labels is not None:
            _check_count(self.label_path, len(self.labels), Y.shape[1], "labels")
        if self.features is not None:
            _check_count(self.feature_path, len(self.features), X.shape[1], "features")
        return Dataset(
            Y=Y,
            X=X,
            label_names=None if self.labels is None else self.labels.names,
            label_texts=None if self.labels is None else self.labels.texts,
            feature_names=self.features,
        )


def write_names(dataset: Dataset, folder: Path) -> None:
    """Write the label file and the feature file of a Dataset that has such names."""
    if dataset.label_names or dataset.label_texts:
        write_label_file(dataset, folder)
    if dataset.feature_names:
        write_feature_file(dataset.feature_names, folder)


def _check_count(path: Path | None, n_names: int, expected: int, what: str) -> None:
    if n_names != expected:
        raise DataError(
            f"{path} names {n_names:,} {what}, but the data beside it has {expected:,}: correct "
            "either, or move the file of names away"
        )
