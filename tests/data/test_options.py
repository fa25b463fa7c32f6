"""Settings of reading and writing that cannot work are refused when they are made."""

from __future__ import annotations

import pytest

from multitudes.data import ReadOptions, WriteOptions
from multitudes.errors import ConfigError


@pytest.mark.parametrize("kind", [ReadOptions, WriteOptions])
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"delimiter": "ab"}, "delimiter must be one character, no line end, got 'ab'"),
        ({"delimiter": "\n"}, "delimiter must be one character"),
        ({"delimiter": ""}, "delimiter must be one character"),
        ({"label_separator": ""}, "label_separator must not be empty"),
        ({"label_kind": "both"}, "label_kind must be one of"),
        ({"seperator": ";"}, "did you mean 'label_separator'"),
    ],
)
def test_impossible_settings(
    kind: type[ReadOptions] | type[WriteOptions], values: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        kind.from_dict(values)


def test_quotes_are_one_character_or_none_and_not_the_delimiter() -> None:
    assert ReadOptions(quote="").quote == ""
    with pytest.raises(ConfigError, match="quote must be one character"):
        ReadOptions(quote="''")
    with pytest.raises(ConfigError, match="quote must differ from delimiter"):
        ReadOptions(quote=",", delimiter=",")


def test_a_tab_may_be_written_as_in_a_shell() -> None:
    assert ReadOptions(delimiter="\\t").delimiter == "\t"
    assert WriteOptions(delimiter="\\t").delimiter == "\t"
