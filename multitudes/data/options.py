"""The settings of reading and of writing, shared by all formats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from multitudes.config import Config, setting
from multitudes.errors import ConfigError

if TYPE_CHECKING:
    from multitudes.data.dataset import Dataset


@dataclass(frozen=True)
class ReadOptions(Config):
    """How a file is read. Each format uses the settings that apply to it."""

    text_column: str | tuple[str, ...] | None = setting(
        None,
        "Field or column of the text; several are joined, as in title,description. By default "
        "those with usual names: title, name, abstract, description, content, body, text, ...",
    )
    label_column: str | None = setting(
        None, "Field or column of the labels; by default labels, tags, categories, ..."
    )
    uid_column: str | None = setting(
        None, "Field or column of the instances' own ids; by default uid or id."
    )
    group_column: str | None = setting(
        None, "Field or column of an instance's groups; by default group or groups."
    )
    label_kind: str = setting(
        "auto",
        "Whether labels are names or ids (columns of Y); auto: numbers in JSON and Parquet are "
        "ids, everything else is names.",
        choices=("auto", "names", "ids"),
    )
    label_separator: str | None = setting(
        None,
        "Separator of the labels of one CSV field or Parquet string (space and \\t stand for "
        "themselves); by default found by looking: lists, URIs, or what is between ; | and commas.",
    )
    label_prefix: str = setting("__label__", "What labels start with in the fastText format.")
    delimiter: str | None = setting(
        None, "Separator of the fields of a CSV line; by default a guess: tab, comma or semicolon."
    )
    quote: str = setting('"', "Quotes CSV fields; an empty string turns quoting off.")
    header: str = setting(
        "auto", "Whether a CSV file starts with column names.", choices=("auto", "yes", "no")
    )
    split: str = setting("trn", "Which part of a folder to read: trn, tst, dev or another name.")
    group_labels: str | None = setting(
        None, "Path of a JSON lines file with the labels of each group."
    )
    instance_groups: str | None = setting(
        None,
        "Path of a JSON lines file with the groups of each instance, for formats without groups.",
    )
    vocabulary: str | None = setting(
        None,
        "Path of a vocabulary (SKOS: .ttl, .rdf, .nt, .jsonld; or .tsv, .csv, .jsonl) that names "
        "the labels, which are its URIs.",
    )
    language: str | None = setting(
        None, "Language of the names to take from the vocabulary, e.g. de; by default a guess."
    )
    require_labels: bool = setting(False, "Refuse a file that has no labels field.")
    unknown_labels: str = setting(
        "drop",
        "A label name outside the given label space: dropped, counted and reported, or an error.",
        choices=("drop", "raise"),
    )
    n_labels: int | None = setting(
        None,
        "Size of the label space if labels are ids; defaults to the largest id + 1.",
        at_least=0,
        at_most=2**31 - 1,
    )
    n_features: int | None = setting(
        None,
        "Number of features of a sparse file that has no header.",
        at_least=0,
        at_most=2**31 - 1,
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
        self._accept_other_types()
        super().__post_init__()
        _check_one_character(self, "delimiter", self.delimiter)
        if self.quote:
            _check_one_character(self, "quote", self.quote)
        if self.quote == self.delimiter:
            raise ConfigError(f"ReadOptions.quote must differ from delimiter, got {self.quote!r}")
        if self.label_separator == "":
            raise ConfigError("ReadOptions.label_separator must not be empty, got ''")
        if not self.label_prefix.strip():
            raise ConfigError(
                f"ReadOptions.label_prefix must not be empty, got {self.label_prefix!r}"
            )
        if self.language is not None and self.vocabulary is None:
            raise ConfigError(
                f"ReadOptions.language is that of a vocabulary's names, got {self.language!r} "
                "without vocabulary: name a file with vocabulary"
            )

    def _accept_other_types(self) -> None:
        """Take numbers of columns, lists of columns, and separators as a shell passes them on."""
        for name in ("text_column", "label_column", "uid_column", "group_column"):
            value = getattr(self, name)
            if isinstance(value, int) and not isinstance(value, bool):
                object.__setattr__(self, name, str(value))
        if isinstance(self.text_column, (list, tuple)):
            columns = tuple(str(column) for column in self.text_column)
            object.__setattr__(self, "text_column", columns or None)
        _accept_words(self)


@dataclass(frozen=True)
class WriteOptions(Config):
    """How a file is written. Each format uses the settings that apply to it."""

    label_kind: str = setting(
        "auto",
        "Write label names or ids; auto: names if the Dataset has them.",
        choices=("auto", "names", "ids"),
    )
    label_separator: str | None = setting(
        None, "Separator of the labels of one CSV field; defaults to ';', or lists if need be."
    )
    label_prefix: str = setting("__label__", "What labels start with in the fastText format.")
    delimiter: str | None = setting(
        None, "Separator of the fields of a CSV line; defaults to a tab for .tsv, else a comma."
    )
    split: str = setting("trn", "Which part of a folder to write: trn, tst, dev or another name.")
    group_labels: str | None = setting(
        None, "Path to write the labels of each group to, as JSON lines."
    )
    instance_groups: str | None = setting(
        None,
        "Path to write the groups of each instance to, for formats without groups.",
    )
    compression: str = setting(
        "none",
        "Compression of the files inside a folder; single files go by their suffix.",
        choices=("none", "gz", "xz", "bz2", "zst"),
    )

    def __post_init__(self) -> None:
        _accept_words(self)
        super().__post_init__()
        _check_one_character(self, "delimiter", self.delimiter)
        if self.label_separator == "":
            raise ConfigError("WriteOptions.label_separator must not be empty, got ''")

    def writes_names(self, dataset: Dataset) -> bool:
        """Return whether labels are written as names rather than ids."""
        names = self.label_kind == "auto" and dataset.label_names is not None
        return names or self.label_kind == "names"


def _accept_words(options: ReadOptions | WriteOptions) -> None:
    """Take words for separators that a shell or a settings file cannot easily hold."""
    meant = {"space": " ", "\\t": "\t", "tab": "\t", "\\n": "\n"}.get(str(options.label_separator))
    if meant is not None:
        object.__setattr__(options, "label_separator", meant)


def _check_one_character(options: Config, name: str, value: str | None) -> None:
    if value == "\\t":  # as a shell passes it on
        object.__setattr__(options, name, "\t")
    elif value is not None and (len(value) != 1 or value in "\r\n"):
        raise ConfigError(
            f"{type(options).__name__}.{name} must be one character, no line end, got {value!r}"
        )


DEFAULT_READ = ReadOptions()
DEFAULT_WRITE = WriteOptions()
