"""The formats by name, and the settings of reading and writing them.

Each format has a module with two functions::

    read_<format>(path, options=DEFAULT_READ, *, labels=None) -> Dataset
    write_<format>(dataset, path, options=DEFAULT_WRITE) -> None

`multitudes.data.read` and `multitudes.data.write` choose among them.
"""

from __future__ import annotations

from dataclasses import dataclass

from multitudes.config import Config, setting
from multitudes.errors import ConfigError

FORMATS = {
    "json-lines": "one JSON object per line: text, labels",
    "csv": "comma-separated values (or another delimiter)",
    "tsv": "tab-separated values",
    "parquet": "Apache Parquet, a text and a label column",
    "lf": "a folder with trn, tst and lbl as JSON lines, and filter files",
    "sparse-text": "sparse features, 'labels feature:value ...' per line, with or without header",
    "npz": "a pair of SciPy .npz files, X and Y",
}
"""What each format is, by name."""

FORMAT_SUFFIXES = {
    ".jsonl": "json-lines",
    ".ndjson": "json-lines",
    ".json": "json-lines",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".txt": "sparse-text",
    ".svm": "sparse-text",
    ".libsvm": "sparse-text",
    ".svmlight": "sparse-text",
    ".npz": "npz",
}
FEATURE_FORMATS = ("sparse-text", "npz")


@dataclass(frozen=True)
class ReadOptions(Config):
    """How a file is read. Every format uses the settings that mean something to it."""

    text_column: str | None = setting(
        None, "Field or column of the text; guessed where absent: text, or title and content."
    )
    label_column: str | None = setting(
        None, "Field or column of the labels; guessed where absent: labels, target_ind, ..."
    )
    uid_column: str | None = setting(
        None, "Field or column of the instances' own ids; guessed where absent: uid, id."
    )
    group_column: str | None = setting(
        None, "Field or column of an instance's groups; guessed where absent: group, groups."
    )
    label_kind: str = setting(
        "auto",
        "Whether labels are names or ids (columns of Y); auto: numbers in JSON and Parquet are "
        "ids, everything else is names.",
        choices=("auto", "names", "ids"),
    )
    label_separator: str | None = setting(
        None, "Between the labels of one CSV field or Parquet string; ';' where absent."
    )
    delimiter: str | None = setting(
        None, "Between the fields of a CSV line; guessed where absent: tab, comma or semicolon."
    )
    quote: str = setting('"', "Around CSV fields; an empty string turns quoting off.")
    header: str = setting(
        "auto", "Whether a CSV file starts with column names.", choices=("auto", "yes", "no")
    )
    split: str = setting("trn", "Which part of a folder to read: trn, tst, dev or another name.")
    group_labels: str | None = setting(
        None, "Path of a JSON lines file with the labels of each group."
    )
    instance_groups: str | None = setting(
        None, "Path of a JSON lines file with the groups of each instance, for features."
    )
    require_labels: bool = setting(False, "Refuse a file that has no labels field.")
    unknown_labels: str = setting(
        "drop",
        "A label name outside a given label space: dropped, counted and reported, or an error.",
        choices=("drop", "raise"),
    )
    n_labels: int | None = setting(
        None,
        "Size of the label space where labels are ids; otherwise the largest id + 1.",
        at_least=0,
    )
    n_features: int | None = setting(
        None, "Number of features where a sparse file has no header.", at_least=0
    )
    first_feature: int = setting(
        0, "The smallest feature index of a sparse text file: 1 for svmlight.", choices=(0, 1)
    )
    on_error: str = setting(
        "raise",
        "A bad line: an error, or skipped, counted and reported.",
        choices=("raise", "skip"),
    )
    max_line_bytes: int = setting(
        1 << 24, "Longer lines are bad lines; they are never held in memory.", at_least=16
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_one_character(self, "delimiter", self.delimiter)
        if self.quote:
            _check_one_character(self, "quote", self.quote)
        if self.quote == self.delimiter:
            raise ConfigError(f"ReadOptions.quote must differ from delimiter, got {self.quote!r}")
        if self.label_separator == "":
            raise ConfigError("ReadOptions.label_separator must not be empty, got ''")


@dataclass(frozen=True)
class WriteOptions(Config):
    """How a file is written. Every format uses the settings that mean something to it."""

    label_kind: str = setting(
        "auto",
        "Write label names or ids; auto: names where the Dataset has them.",
        choices=("auto", "names", "ids"),
    )
    label_separator: str = setting(";", "Between the labels of one CSV field.")
    delimiter: str | None = setting(
        None, "Between the fields of a CSV line; a tab for .tsv, else a comma, where absent."
    )
    split: str = setting("trn", "Which part of a folder to write: trn, tst, dev or another name.")
    group_labels: str | None = setting(
        None, "Path to write the labels of each group to, as JSON lines."
    )
    instance_groups: str | None = setting(
        None, "Path to write the groups of each instance to, as JSON lines, for features."
    )
    compression: str = setting(
        "none",
        "Compression of the files inside a folder; single files go by their suffix.",
        choices=("none", "gz", "xz", "bz2", "zst"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_one_character(self, "delimiter", self.delimiter)
        if self.label_separator == "":
            raise ConfigError("WriteOptions.label_separator must not be empty, got ''")


def _check_one_character(options: Config, name: str, value: str | None) -> None:
    if value == "\\t":  # as a shell passes it on
        object.__setattr__(options, name, "\t")
    elif value is not None and (len(value) != 1 or value in "\r\n"):
        raise ConfigError(
            f"{type(options).__name__}.{name} must be one character, no line end, got {value!r}"
        )


DEFAULT_READ = ReadOptions()
DEFAULT_WRITE = WriteOptions()
