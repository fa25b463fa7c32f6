"""Predictions as lists, as a frame, and printed."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from multitudes.errors import DataError, MissingExtraError
from multitudes.tagger import Tag, TagLists
from multitudes.types import Predictions

FOUND = Predictions.from_lists([[2, 0], [], [1]], [[0.75, 0.5], [], [0.25]], 3)
NAMES = ["a", "b", "c"]
TAGS = TagLists([[Tag("c", 0.75), Tag("a", 0.5)], [], [Tag("b", 0.25)]])


def test_lists_of_ids_and_of_names():
    assert FOUND.to_lists() == [[2, 0], [], [1]]
    assert FOUND.to_lists(NAMES) == TAGS.to_lists() == [["c", "a"], [], ["b"]]
    assert Predictions.from_lists(FOUND.to_lists(), None, 3).to_lists() == FOUND.to_lists()


@pytest.mark.parametrize("frame", [lambda **k: FOUND.to_frame(NAMES, **k), TAGS.to_frame])
def test_a_frame_has_a_line_for_each_label(frame):
    found = frame()
    assert found["row"].tolist() == [0, 0, 2]
    assert found["rank"].tolist() == [1, 2, 1]
    assert found["label"].tolist() == ["c", "a", "b"]
    assert found["score"].tolist() == [0.75, 0.5, 0.25]
    assert frame(rows=["x", "y", "z"])["row"].tolist() == ["x", "x", "z"]
    with pytest.raises(DataError, match=r"rows must name each instance \(3\), got 2"):
        frame(rows=["x", "y"])


def test_a_frame_of_ids_and_one_of_nothing():
    assert FOUND.to_frame()["label"].tolist() == [2, 0, 1]
    for empty in (FOUND[:0].to_frame(), TagLists().to_frame()):
        assert empty.columns.tolist() == ["row", "rank", "label", "score"]
        assert len(empty) == 0


def test_names_must_be_those_of_the_labels():
    for method in (FOUND.to_lists, FOUND.to_frame):
        with pytest.raises(DataError, match=r"one name per label \(3\), got 2"):
            method(NAMES[:2])


def test_without_pandas_there_is_a_line_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'multitudes\[pandas\]'"):
        FOUND.to_frame()


def test_printed_they_are_a_few_lines():
    assert str(FOUND).splitlines() == [
        "Predictions: 3 instances, the best 2 of 3 labels",
        "  0: 2 (0.75), 0 (0.5)",
        "  1: none",
        "  2: 1 (0.25)",
    ]
    many = Predictions(np.zeros((1000, 1), np.int32), np.ones((1000, 1), np.float32), 2)
    assert len(repr(many).splitlines()) == 7
    assert repr(many).endswith("  ... to 999")


def test_tags_are_lists_of_lists():
    assert TAGS == [[("c", 0.75), ("a", 0.5)], [], [("b", 0.25)]]
    assert repr(TAGS[2]) == "[Tag(label='b', score=0.25)]"
