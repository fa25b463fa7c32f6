"""How the labels of a field are written, found by looking; and lists of Python, numpy and JSON."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multitudes.data.formats.label_field import label_writer, notation_of, parse_list


@pytest.mark.parametrize(
    ("field", "labels"),
    [
        ("['a', 'b']", ["a", "b"]),
        ('["a", "b, c"]', ["a", "b, c"]),
        ("['a' 'b'\n 'c']", ["a", "b", "c"]),
        ("""['it\\'s', "it's"]""", ["it's", "it's"]),
        ("{'a', 'b'}", ["a", "b"]),
        ("('a',)", ["a"]),
        ("[1, 2]", ["1", "2"]),
        ("[1 2]", ["1", "2"]),
        ("[red wine, white wine]", ["red wine", "white wine"]),
        ('["\\u00fc"]', ["ü"]),
        ("[]", []),
        ("[ ]", []),
        ("set()", []),
        ("", []),
    ],
)
def test_lists(field: str, labels: list[str]) -> None:
    assert parse_list(field) == labels


@pytest.mark.parametrize(
    "field", ["a", "[a", "['a'", "(see also)", "{x}", "['a', b]", "[['a']]", "'a'", "['a'x'b']"]
)
def test_no_lists(field: str) -> None:
    assert parse_list(field) is None


@pytest.mark.parametrize("field", ["['a'" + " " * 200_000 + "x]", "[" + "'a' " * 50_000 + "x]"])
def test_hostile_fields_take_no_time(field: str) -> None:
    start = time.perf_counter()
    assert parse_list(field) is None
    assert time.perf_counter() - start < 2


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.text(min_size=1, max_size=5), max_size=4), min_size=1, max_size=5))
def test_what_is_written_is_read_back(rows: list[list[str]]) -> None:
    write = label_writer([name for row in rows for name in row], None)
    fields = [write(row) for row in rows]
    notation = notation_of(field for field in fields if field.strip()) if any(fields) else None
    read = [notation.split(field) if notation and field.strip() else [] for field in fields]
    assert read == rows


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=4))
def test_python_lists_are_read_back(names: list[str]) -> None:
    assert parse_list(repr(names)) == names


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (["a;b", "c"], "split at ';'"),
        (["a|b", "c"], "split at '|'"),
        (["a|b;c", "d;e", "f;g"], "split at ';'"),
        (["a,b", "b,c", "c"], "split at ','"),
        (["Smith, John", "b", "c"], "split at ';'"),
        (["['a']", "[]"], "lists"),
        (["['a']", "a"], "split at ';'"),
        (["<http://a> <http://b>", "<x>"], "URIs, split at spaces"),
        (["http://a", "http://a http://b"], "URIs, split at spaces"),
        (["http://a;http://b"], "split at ';'"),
    ],
)
def test_how_labels_are_written_is_found_by_looking(fields: list[str], words: str) -> None:
    assert notation_of(fields).words == words
