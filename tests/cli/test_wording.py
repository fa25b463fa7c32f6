"""Messages of the library in the words of the command line."""

from __future__ import annotations

import pytest

from multitudes.cli.convert import convert
from multitudes.cli.evaluate import evaluate
from multitudes.cli.printing.wording import in_flags
from multitudes.cli.train import train
from multitudes.cli.verb import expanded

VERBS = {"train": train, "convert": convert, "evaluate": evaluate}


@pytest.mark.parametrize(
    ("verb", "message", "expected"),
    [
        ("train", "skip with on_error='skip'", "skip with --on-error skip"),
        ("train", "name it with group_labels", "name it with --groups FILE"),
        ("convert", "name it with group_labels", "name it with --read group_labels=FILE"),
        ("train", "given by random_state", "given by --seed"),
        ("train", "set label_separator=';'", "set --read 'label_separator=;'"),
        ("train", "raise max_line_bytes, or", "raise --read max_line_bytes=N, or"),
        ("train", "set format='csv' or the like", "set --format csv or the like"),
        ("convert", "cannot write x: format='csv'", "cannot write x: --to csv"),
        (
            "convert",
            "cannot write x: choose another label_separator",
            "cannot write x: choose another --write label_separator=VALUE",
        ),
        ("evaluate", "with skip_empty nothing is left", "with --skip-empty nothing is left"),
        ("evaluate", "see skip_empty=True", "see --skip-empty"),
        ("train", "ReadOptions.split must be str", "--read split must be str"),
        ("train", "ReadOptions has no setting 'x'", "--read has no setting 'x'"),
    ],
)
def test_settings_become_flags(verb: str, message: str, expected: str) -> None:
    assert in_flags(message, expanded(VERBS[verb])) == expected


@pytest.mark.parametrize(
    "message",
    [
        "text_column.jsonl:1: is bad",
        "(got fields ['text_column', 'on_error'])",
        "./on_error/data.csv is a folder",
        "the split of a format in a language",
        "Tagger(random_state=...)",
        "my_on_error and on_errors",
    ],
)
def test_other_words_stay_as_they_are(message: str) -> None:
    assert in_flags(message, expanded(train)) == message


def test_a_verb_without_the_option_keeps_the_words_of_python() -> None:
    assert in_flags("skip_empty", expanded(train)) == "skip_empty"
    assert in_flags("set on_error='skip'") == "set --on-error skip"
