from __future__ import annotations

import pytest

from multitudes.errors import ConfigError
from multitudes.features import TfidfFeatures
from multitudes.tagger.settings import describe_settings, parse_settings

from .centroids import Centroids


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=16", {"a": 16}),
        ("a=0.5", {"a": 0.5}),
        ("a=true", {"a": True}),
        ("a=False", {"a": False}),
        ("a=none", {"a": None}),
        ("a=null", {"a": None}),
        ("a=[1, 2]", {"a": [1, 2]}),
        ("a=squared-hinge", {"a": "squared-hinge"}),
        (" features.min_df = 2 ", {"features.min_df": 2}),
        ("a=b=c", {"a": "b=c"}),
        ("a=", {"a": ""}),
    ],
)
def test_values_are_read_as_what_they_look_like(text, expected):
    assert parse_settings([text]) == expected


def test_the_last_of_two_wins():
    assert parse_settings(["a=1", "a=2"]) == {"a": 2}


@pytest.mark.parametrize("text", ["branching", "=3", ""])
def test_what_is_no_assignment(text):
    with pytest.raises(ConfigError, match="name=value"):
        parse_settings([text])


def test_settings_are_described_by_their_config_classes():
    rows = {
        name: (value, doc) for name, value, doc in describe_settings(Centroids(), TfidfFeatures())
    }
    assert rows["power"] == (1.0, "")
    value, doc = rows["features.min_df"]
    assert value == TfidfFeatures().min_df
    assert "texts" in doc
