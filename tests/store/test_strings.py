from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitudes.errors import StoreError
from multitudes.store.strings import read_strings, write_strings


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_any_strings_come_back(tmp_path_factory, strings):
    path = tmp_path_factory.mktemp("strings") / "names.jsonl"
    write_strings(path, strings)
    assert read_strings(path, len(strings)) == strings


def test_one_readable_line_each(tmp_path):
    path = tmp_path / "names.jsonl"
    write_strings(path, ["Straße", "two\nlines", ""])
    assert path.read_text(encoding="utf-8") == '"Straße"\n"two\\nlines"\n""\n'


def test_what_is_not_text_is_refused_by_position(tmp_path):
    with pytest.raises(StoreError, match=r"names\[1\] must be a str, got 7"):
        write_strings(tmp_path / "names.jsonl", ["a", 7])  # type: ignore[list-item]
    with pytest.raises(StoreError, match=r"names\[0\] is not valid Unicode"):
        write_strings(tmp_path / "names.jsonl", ["\ud800"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'"a"\n"b"', "cut off"),
        (b'"a"\n', "1 strings, the manifest says 2"),
        (b'"a", "b"\n', "the manifest says 2"),
        (b'"a"\n\n', "not a JSON string"),
        (b'"a"\n7\n', "not a JSON string"),
        (b'"a"\n"\xff"\n', "not a JSON string"),
    ],
)
def test_damage_is_named(tmp_path, content, message):
    path = tmp_path / "names.jsonl"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=message):
        read_strings(path, 2)
