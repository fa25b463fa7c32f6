"""The labels of one field of a table: how they are written, found out by looking, and writing them.

A field holds labels between separators (``a;b``), a list as pandas or JSON writes it
(``['a', 'b']``), or URIs (``<http://x/1> <http://x/2>``, as Annif does).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from multitudes.data.report import excerpt
from multitudes.errors import DataError

SEPARATOR = ";"
# A comma is a separator only if most fields have one: it is part of many a name.
SEPARATORS = (SEPARATOR, "|", "\n")
WEAK_SEPARATOR = ","
_FIELDS_KEPT = 10_000
_CLOSING = {"[": "]", "(": ")", "{": "}"}
_STRING = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_QUOTED = re.compile(_STRING, re.DOTALL)
_BETWEEN = r"(?:\s*+,\s*+|\s++)"
_LIST = re.compile(rf"(?:{_STRING})(?:{_BETWEEN}(?:{_STRING}))*+(?:\s*+,)?+", re.DOTALL)
_URI = r"<[^<>\s]+>|[A-Za-z][A-Za-z0-9+.-]*://[^\s<>;|]+"
_URIS = re.compile(rf"\s*(?:{_URI})(?:\s+(?:{_URI}))*\s*")
# What may stand between separators, and cannot be taken for anything else when it is read again.
_PLAIN = re.compile(r"[^;|,\n<>\[\](){}]+")


def split_at(separator: str) -> Callable[[str], list[str]]:
    """Return what splits a field at a separator, without spaces around labels and empty ones."""

    def split(value: str) -> list[str]:
        return [label for part in value.split(separator) if (label := part.strip())]

    return split


def parse_list(value: str) -> list[str] | None:
    """Return the labels of a list that Python, pandas, numpy or JSON has written; None if not one.

    ``['a', 'b']``, ``["a", "b"]``, ``['a' 'b']``, ``{'a', 'b'}``, ``('a',)``, ``[1, 2]``,
    ``[a, b]``, ``[]`` and ``set()``.
    """
    value = value.strip()
    if value in ("", "set()"):
        return []
    if len(value) < 2 or _CLOSING.get(value[0]) != value[-1]:
        return None
    inside = value[1:-1].strip()
    if not inside:
        return []
    if _LIST.fullmatch(inside):
        try:
            return _strings(value, inside)
        except (ValueError, SyntaxError):
            return None
    if value[0] != "[" or any(mark in inside for mark in "'\"[]"):
        return None
    return [
        label for part in inside.split("," if "," in inside else None) if (label := part.strip())
    ]


def _strings(value: str, inside: str) -> list[str]:
    """Return the strings of a list, as JSON if it is JSON, else as Python's literals."""
    if value[0] == "[" and inside[0] == '"':
        try:
            parsed: list[str] = orjson.loads(value)
        except orjson.JSONDecodeError:
            pass
        else:
            return parsed
    return [ast.literal_eval(literal) for literal in _QUOTED.findall(inside)]


def split_uris(value: str) -> list[str]:
    """Return URIs with blanks between them, without angle brackets around them."""
    return [uri[1:-1] if uri[0] == "<" and uri[-1] == ">" else uri for uri in value.split()]


@dataclass(frozen=True)
class Notation:
    """How the labels of a field are written."""

    split: Callable[[str], list[str] | None]
    words: str
    separator: str | None = None


LISTS = Notation(parse_list, "lists")
URIS = Notation(split_uris, "URIs, split at spaces")


def separated(separator: str) -> Notation:
    """Return the notation with a separator between labels."""
    return Notation(split_at(separator), f"split at {separator!r}", separator)


def notation_of(values: Iterable[str]) -> Notation:
    """Guess how labels are written from the first fields of a column, which are not empty."""
    fields = set(values)
    if all(parse_list(field) is not None for field in fields):
        return LISTS
    if all(map(_URIS.fullmatch, fields)):
        return URIS
    counts = {mark: sum(mark in field for field in fields) for mark in SEPARATORS}
    best = max(SEPARATORS, key=lambda mark: counts[mark])  # the first of equals
    if counts[best]:
        return separated(best)
    if 2 * sum(WEAK_SEPARATOR in field for field in fields) > len(fields):
        return separated(WEAK_SEPARATOR)
    return separated(SEPARATOR)


class LabelField:
    """Splits the label fields of a column; how is found out from the first rows.

    Parameters
    ----------
    path : Path
        The file, for messages.
    separator : str or None
        Between labels; None to look.
    """

    def __init__(self, path: Path, separator: str | None) -> None:
        self._path = path
        self._unsure = separator is None
        self._notation = None if separator is None else separated(separator)
        self._seen: set[str] = set()

    def look(self, values: Iterable[object]) -> None:
        """Settle how labels are written, from the first rows that have any."""
        if self._notation is None:
            fields = [value for value in values if isinstance(value, str) and value.strip()]
            self._notation = notation_of(fields) if fields else None

    def split(self, value: str) -> list[str] | None:
        """Return the labels of a field; None if the field is not a list and others are."""
        self.look([value])
        if self._notation is None:
            return []
        if self._unsure and value:
            self._note(value, self._notation.separator)
        return self._notation.split(value)

    def _note(self, value: str, separator: str | None) -> None:
        if separator is None or separator in value:
            self._unsure = False
            self._seen.clear()
        elif len(self._seen) < _FIELDS_KEPT:
            self._seen.add(value)

    def check(self) -> None:
        """Raise if no field had the separator, and most had another usual one."""
        if self._notation is None or self._notation.separator is None:
            return
        for other in (WEAK_SEPARATOR, *SEPARATORS):
            count = sum(other in value for value in self._seen)
            if count * 2 > len(self._seen):
                raise DataError(
                    f"{self._path}: labels are separated by {self._notation.separator!r}, but no "
                    f"field has it, and {count:,} of {len(self._seen):,} different ones have "
                    f"{other!r}: set label_separator={other!r}, or label_separator={SEPARATOR!r} "
                    "if each field is one label"
                )

    def describe(self) -> str:
        """Return how labels are written, for the report."""
        notation = self._notation
        if notation is None:
            return "empty"
        if notation.separator is None or not self._unsure:
            return notation.words
        commas = sum(WEAK_SEPARATOR in value for value in self._seen)
        some = f", {commas:,} of {len(self._seen):,} with a comma" if commas else ""
        return f"one per field{some}"


def not_a_list(value: object) -> str:
    """Return what is wrong with a label field that is not a list, where others are."""
    return (
        f"the labels are not a list (got {excerpt(value)}); expected a list as in the first rows, "
        """e.g. ["a", "b"]: correct the row, or set label_separator"""
    )


def label_writer(names: Iterable[str], separator: str | None) -> Callable[[Sequence[object]], str]:
    """Return what makes a field of labels that is read back as the same labels.

    With `separator` they stand between separators, and a label that cannot is an error. By default
    they stand between ``;``, or are JSON lists if any of the `names` could be misread so.
    """
    if separator is not None:
        return lambda labels: join_labels(labels, separator)
    plain = all(
        _PLAIN.fullmatch(name) and name == name.strip() and "://" not in name for name in names
    )
    if plain:
        return lambda labels: SEPARATOR.join(map(str, labels))
    return lambda labels: orjson.dumps(list(map(str, labels))).decode()


def join_labels(labels: Sequence[object], separator: str) -> str:
    """Join labels to a field that splits into the same labels; an error if none would."""
    names = [str(label) for label in labels]
    for name in names:
        if separator in name or name != name.strip() or not name:
            raise DataError(
                f"cannot write the label {excerpt(name)} between separators {separator!r}; "
                "expected no separator in it and no spaces around it: choose another "
                "label_separator, or none, for lists"
            )
    return separator.join(names)
