"""Several labels in one field of a table, with a separator between them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from multitudes.data.report import excerpt
from multitudes.errors import DataError

DEFAULT_SEPARATOR = ";"
OTHER_SEPARATORS = (",", "|")
_FIELDS_KEPT = 10_000


class LabelField:
    """Splits label fields, and notices when the default separator is the wrong one.

    Parameters
    ----------
    path : Path
        The file, for messages.
    separator : str or None
        Between labels; None is the default, ``;``, which `check` then doubts.
    """

    def __init__(self, path: Path, separator: str | None) -> None:
        self._path = path
        self._doubtful = separator is None
        self._separator = separator or DEFAULT_SEPARATOR
        self._fields: set[str] = set()

    def split(self, value: str) -> list[str]:
        """The labels of a field, without the spaces around them; empty ones do not count."""
        if self._doubtful and value:
            self._doubt(value)
        return [label for part in value.split(self._separator) if (label := part.strip())]

    def _doubt(self, value: str) -> None:
        if self._separator in value:
            self._doubtful = False
            self._fields.clear()
        elif len(self._fields) < _FIELDS_KEPT:
            self._fields.add(value)

    def check(self) -> None:
        """Raise if no field had the default separator, and most had another usual one."""
        for other in OTHER_SEPARATORS:
            count = sum(other in value for value in self._fields)
            if count * 2 > len(self._fields):
                raise DataError(
                    f"{self._path}: labels are separated by {DEFAULT_SEPARATOR!r}, but no field "
                    f"has it, and {count:,} of {len(self._fields):,} different ones have "
                    f"{other!r}: set label_separator to {other!r}, or to {DEFAULT_SEPARATOR!r} if "
                    "each field is one label"
                )


def join_labels(labels: Sequence[object], separator: str) -> str:
    """A field that splits into the same labels again; an error where none would."""
    names = [str(label) for label in labels]
    for name in names:
        if separator in name or name != name.strip() or not name:
            raise DataError(
                f"cannot write the label {excerpt(name)} between separators {separator!r}; "
                "expected no separator in it and no spaces around it: choose another "
                "label_separator, or write JSON lines"
            )
    return separator.join(names)
