from __future__ import annotations

import pytest

from multitudes.data.label_lists import listed_texts
from multitudes.errors import DataError


def test_texts_by_name_or_in_order():
    assert listed_texts(None, ["a", "b"]) is None
    assert listed_texts({"b": "bee"}, ["a", "b"]) == ["a", "bee"]
    assert listed_texts(("ay", "bee"), ["a", "b"]) == ["ay", "bee"]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"c": "sea"}, "'c', which is not among the 2 labels"),
        (["ay"], r"one text per label \(2\).* got 1"),
        ("ab", "got one str"),
    ],
)
def test_texts_that_do_not_fit(texts, message):
    with pytest.raises(DataError, match=message):
        listed_texts(texts, ["a", "b"])
