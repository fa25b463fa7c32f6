"""What is measured of JSON, against a count of what the standard library makes of it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitudes.kernels.json_shape import json_shape

MOST = 1 << 40
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


def shape(content: bytes, values: int = MOST, characters: int = MOST, depth: int = MOST):
    return json_shape(np.frombuffer(content, np.uint8), values, characters, depth)


def counted(value) -> tuple[int, int, int]:
    """Commas and lists, characters inside strings, levels: what `shape` should return."""
    if isinstance(value, str):
        return 0, len(value), 0
    if not isinstance(value, list | dict):
        return 0, 0, 0
    parts = list(value) if isinstance(value, list) else [*value.keys(), *value.values()]
    counts = [counted(part) for part in parts]
    commas = max(len(value) - 1, 0)
    return (
        1 + commas + sum(n for n, _, _ in counts),
        sum(n for _, n, _ in counts),
        1 + max((n for _, _, n in counts), default=0),
    )


@given(DOCUMENTS, st.booleans(), st.sampled_from([None, 1]))
def test_counts_are_those_of_the_value(value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert shape(text.encode("utf-8", "surrogatepass")) == counted(value)


@given(st.binary(max_size=200))
def test_what_is_no_json_is_measured_too(content):
    values, characters, depth = shape(content)
    assert 0 <= values <= len(content)
    assert 0 <= characters <= len(content)
    assert 0 <= depth <= len(content)


@pytest.mark.parametrize(
    ("content", "limits", "place"),
    [
        (b"[" + b"1," * 1000 + b"1]", (10, MOST, MOST), 0),
        (b'["' + b"a" * 1000 + b'"]', (MOST, 10, MOST), 1),
        (b"[" * 1000, (MOST, MOST, 10), 2),
    ],
)
def test_counting_ends_at_the_first_that_is_too_many(content, limits, place):
    assert shape(content, *limits)[place] == 11
