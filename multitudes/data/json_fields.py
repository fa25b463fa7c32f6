"""The fields of a JSON record: which hold the text, the labels, the uid and the groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

from multitudes.data.field_names import (
    GROUPS,
    LABELS,
    UIDS,
    asked_texts,
    join_parts,
    listed,
    nearest,
    usual_name,
    usual_texts,
)
from multitudes.data.options import ReadOptions
from multitudes.data.records import Columns, Records
from multitudes.data.report import excerpt
from multitudes.errors import DataError
from multitudes.types import IntArray

# A label may be an object, e.g. {"uri": "http://...", "label": "trade policy"} in Annif's corpora.
LABEL_KEYS = ("uri", "label", "name")

Row = tuple[str, list[Any] | None, str | None, list[str] | None]


@dataclass(frozen=True)
class Layout:
    """The names of the fields that a record's parts are in."""

    texts: tuple[str, ...]
    labels: str | None
    uid: str | None
    group: str | None


class JsonFields:
    """Takes records apart: many at once if all are valid, else one by one with reasons.

    Whether records have labels, and whether they have uids, is settled by the first record.
    """

    def __init__(self, options: ReadOptions, records: Records) -> None:
        self._records = records
        self._texts = asked_texts(options)
        self._asked = (options.label_column, options.uid_column, options.group_column)
        self._layout: Layout | None = None
        self._keys: set[str] = set()
        self._texts_seen: set[str] = set()

    # One record, with reasons ------------------------------------------------------------------

    def row(self, record: dict[str, Any]) -> Row | str:
        """Return (text, labels, uid, groups) of a record, or what is wrong with it."""
        layout = self._layout_of(record)
        if not layout.texts:
            return self._no_text(record)
        text = _text_of(record, layout.texts)
        labels = None if layout.labels is None else self._named(record[layout.labels])
        groups = None if layout.group is None else group_names(record[layout.group])
        problem = (
            text[1]
            or self._unlike_the_first(layout, record)
            or self._label_problem(layout.labels, labels)
            or self._group_problem(groups)
            or _uid_problem(layout.uid, record)
        )
        if problem is not None:
            return problem
        self._settle(layout, record)
        uid = None if layout.uid is None else str(record[layout.uid])
        return text[0], labels, uid, groups if isinstance(groups, list) else None

    def _layout_of(self, names: Iterable[str]) -> Layout:
        """Return which of some fields are which."""
        present = set(names)
        labels, uid, group = (
            usual_name(present, usual) if asked is None else (asked if asked in present else None)
            for asked, usual in zip(self._asked, (LABELS, UIDS, GROUPS), strict=True)
        )
        if self._texts:
            texts = [name for name in self._texts if name in present]
        else:
            texts = usual_texts(list(present), (labels, uid, group))
        return Layout(tuple(texts), labels, uid, group)

    def _no_text(self, record: dict[str, Any]) -> str:
        usual = "'text', 'title', 'description' or the like"
        wanted = " and ".join(map(repr, self._texts)) or usual
        return (
            f"the text is missing (got fields {listed(list(record))}); expected {wanted}: name the "
            "field with text_column"
        )

    def _settle(self, layout: Layout, record: dict[str, Any]) -> None:
        self._texts_seen.update(layout.texts)
        if self._layout is None:
            self._layout, self._keys = layout, set(record)
            self._records.field_names = list(record)
            self._records.taken = taken(layout)

    def _unlike_the_first(self, layout: Layout, record: dict[str, Any]) -> str | None:
        if self._layout is None:
            return None
        first = self._layout
        for what, now, before in (
            ("labels", layout.labels, first.labels),
            ("uid", layout.uid, first.uid),
        ):
            if (now is None) != (before is None):
                state = "is missing" if now is None else "appears"
                others = "have" if now is None else "lack"
                return (
                    f"the field {before or now!r} {state} (got fields {excerpt(list(record))}), "
                    f"while earlier lines {others} it; expected {what} in all lines or in none"
                    + (": write [] for no labels" if what == "labels" else "")
                )
        return None

    def _named(self, labels: Any) -> Any:
        """Return labels with the names of those that are objects, whose titles are noted."""
        if not isinstance(labels, list) or dict not in set(map(type, labels)):
            return labels
        return [label_of(label, self._records.titles) for label in labels]

    def _label_problem(self, name: str | None, labels: Any) -> str | None:
        if name is None:
            return None
        if isinstance(labels, list):
            return self._records.numbering.problem(labels)
        advice = f": write [{excerpt(labels)}]" if isinstance(labels, (str, int)) else ""
        return f"{name!r} is not a list (got {excerpt(labels)}); expected a list of labels{advice}"

    def _group_problem(self, groups: list[str] | str | None) -> str | None:
        if isinstance(groups, str):
            return groups
        return None if groups is None else self._records.groups.problem(groups)

    def check(self) -> None:
        """Refuse a text field that was asked for and that no record had."""
        missing = [name for name in self._texts if name not in self._texts_seen]
        if missing and self._layout is not None:
            fields = self._records.field_names
            raise DataError(
                f"{self._records.path}: no line has the field {missing[0]!r} (got fields "
                f"{listed(fields)}); correct text_column: {nearest(missing[0], fields)}"
            )

    # Many records at once ----------------------------------------------------------------------

    def columns(self, records: list[dict[str, Any]]) -> Columns | None:
        """Return all fields of many records; None if any of them needs a closer look."""
        if self._layout is None:
            self.row(records[0])  # settles the layout, if the record is valid
        layout = self._layout
        if layout is None or not self._share_layout(records, layout):
            return None
        try:
            texts = [list(map(itemgetter(name), records)) for name in layout.texts]
            labels = None if not layout.labels else list(map(itemgetter(layout.labels), records))
            uids = None if not layout.uid else list(map(itemgetter(layout.uid), records))
            values = None if not layout.group else list(map(itemgetter(layout.group), records))
        except KeyError:
            return None
        groups = None if values is None else list(map(group_names, values))
        if not all(_all_are(str, column) for column in texts):
            return None
        if uids is not None and not _all_are(str, uids):
            if not _all_are(int, uids):
                return None
            uids = list(map(str, uids))
        if groups is not None and any(self._group_problem(row) for row in groups):
            return None
        # Last, since from here on names have numbers.
        ids = None if labels is None else self._label_ids(labels)
        if labels is not None and ids is None:
            return None
        return Columns(_joined(texts), labels, ids, uids, groups)  # type: ignore[arg-type]

    def _share_layout(self, records: list[dict[str, Any]], layout: Layout) -> bool:
        """Return whether no record has a field that would be preferred to one of the layout."""
        keys: set[str] = set().union(*records)
        return keys <= self._keys or self._layout_of(keys) == layout

    def _label_ids(self, labels: list[Any]) -> IntArray | None:
        if not _all_are(list, labels):
            return None
        return self._records.numbering.encode_if_valid(list(chain.from_iterable(labels)))


def taken(layout: Layout) -> str:
    """Return what was read as what, for the report."""
    parts = [f"text: {' + '.join(layout.texts)}", f"labels: {layout.labels or 'none'}"]
    parts += [f"uid: {layout.uid}"] if layout.uid else []
    parts += [f"groups: {layout.group}"] if layout.group else []
    return ", ".join(parts)


def label_of(label: Any, titles: dict[str, str]) -> Any:
    """Return the name of a label that may be an object: its URI, else what it is called."""
    if not isinstance(label, dict):
        return label
    name = next((label[key] for key in LABEL_KEYS if label.get(key)), label)
    title = label.get("label")
    if isinstance(name, str) and isinstance(title, str) and title != name:
        titles.setdefault(name, title)
    return name


def _text_of(record: dict[str, Any], names: Sequence[str]) -> tuple[str, str | None]:
    """Return the text, and what is wrong with it; one of several parts may be null."""
    parts = [record[name] for name in names]
    if len(parts) > 1 and any(part is not None for part in parts):
        parts = ["" if part is None else part for part in parts]
    for name, part in zip(names, parts, strict=True):
        if not isinstance(part, str):
            return "", f"{name!r} is not a text (got {excerpt(part)}); expected a string"
    return join_parts(*parts), None


def _joined(texts: list[list[str]]) -> list[str]:
    return texts[0] if len(texts) == 1 else list(map(join_parts, *texts))


def _all_are(kind: type, values: Iterable[Any]) -> bool:
    return set(map(type, values)) == {kind}


def group_names(value: Any) -> list[str] | str:
    """Return group ids as names, from one id or a list, or what is wrong with them."""
    values = value if isinstance(value, list) else [value]
    for one in values:
        if type(one) not in (str, int):
            return f"the group is not an id (got {excerpt(one)}); expected a string or a number"
    return list(map(str, values))


def _uid_problem(name: str | None, record: dict[str, Any]) -> str | None:
    if name is None or type(record[name]) in (str, int):
        return None
    return f"{name!r} is not an id (got {excerpt(record[name])}); expected a string or a number"
