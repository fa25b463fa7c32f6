"""The fields of a JSON record: which hold the text, the labels, the uid and the groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

from multitudes.data.options import ReadOptions
from multitudes.data.records import Columns, Records
from multitudes.data.report import excerpt
from multitudes.types import IntArray

PARTS = ("title", "content")
LABELS = ("labels", "target_ind")
UIDS = ("uid", "id")
GROUPS = ("group", "groups")

Row = tuple[str, list[Any] | None, str | None, list[str] | None]


def join_parts(title: str, content: str) -> str:
    """Join a title and a content with a space between them, unless one is empty."""
    return f"{title} {content}" if title and content else title or content


@dataclass(frozen=True)
class Layout:
    """The fields a record has, by name; a record with one of `absent` has another layout."""

    texts: tuple[str, ...]
    labels: str | None
    uid: str | None
    group: str | None
    absent: frozenset[str]


class JsonFields:
    """Takes records apart: many at once if all are valid, else one by one with reasons.

    Whether records have labels, and whether they have uids, is settled by the first record.
    """

    def __init__(self, options: ReadOptions, records: Records) -> None:
        self._records = records
        self._text = options.text_column
        self._labels = LABELS if options.label_column is None else (options.label_column,)
        self._uids = UIDS if options.uid_column is None else (options.uid_column,)
        self._groups = GROUPS if options.group_column is None else (options.group_column,)
        self._layout: Layout | None = None

    # One record, with reasons ------------------------------------------------------------------

    def row(self, record: dict[str, Any]) -> Row | str:
        """Return (text, labels, uid, groups) of a record, or what is wrong with it."""
        layout = self._layout_of(record)
        if isinstance(layout, str):
            return layout
        texts = [record[name] for name in layout.texts]
        for name, text in zip(layout.texts, texts, strict=True):
            if not isinstance(text, str):
                return f"{name!r} is not a text (got {excerpt(text)}); expected a string"
        labels = None if layout.labels is None else record[layout.labels]
        groups = None if layout.group is None else group_names(record[layout.group])
        problem = (
            self._unlike_the_first(layout, record)
            or self._label_problem(layout.labels, labels)
            or self._group_problem(groups)
            or _uid_problem(layout.uid, record)
        )
        if problem is not None:
            return problem
        self._layout = self._layout or layout
        uid = None if layout.uid is None else str(record[layout.uid])
        text = texts[0] if len(texts) == 1 else join_parts(texts[0], texts[1])
        return text, labels, uid, groups if isinstance(groups, list) else None

    def _layout_of(self, record: dict[str, Any]) -> Layout | str:
        texts: tuple[str, ...]
        preferred: tuple[str, ...] = ()
        if self._text is not None:
            texts = (self._text,) if self._text in record else ()
        elif "text" in record:
            texts = ("text",)
        else:
            texts, preferred = tuple(p for p in PARTS if p in record), ("text", *PARTS)
        if not texts:
            wanted = repr(self._text) if self._text else "'text', or 'title' and 'content'"
            return (
                f"the text is missing (got fields {excerpt(list(record))}); expected {wanted}: "
                "name the field with text_column"
            )
        labels, uid, group = (
            next((name for name in names if name in record), None)
            for names in (self._labels, self._uids, self._groups)
        )
        absent = {*preferred, *_before(self._labels, labels), *_before(self._uids, uid)}
        absent |= {*_before(self._groups, group)}
        return Layout(texts, labels, uid, group, frozenset(absent - set(texts)))

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

    # Many records at once ----------------------------------------------------------------------

    def columns(self, records: list[dict[str, Any]]) -> Columns | None:
        """Return all fields of many records; None if any of them needs a closer look."""
        if self._layout is None:
            self.row(records[0])  # settles the layout, if the record is valid
        layout = self._layout
        if layout is None or not all(map(layout.absent.isdisjoint, records)):
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

    def _label_ids(self, labels: list[Any]) -> IntArray | None:
        if not _all_are(list, labels):
            return None
        return self._records.numbering.encode_if_valid(list(chain.from_iterable(labels)))


def _joined(texts: list[list[str]]) -> list[str]:
    if len(texts) == 1:
        return texts[0]
    # `join_parts` without the call.
    pairs = zip(*texts, strict=True)
    return [
        f"{title} {content}" if title and content else title or content for title, content in pairs
    ]


def _before(names: tuple[str, ...], chosen: str | None) -> tuple[str, ...]:
    """Return the names that would have been chosen before `chosen`."""
    return names if chosen is None else names[: names.index(chosen)]


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
