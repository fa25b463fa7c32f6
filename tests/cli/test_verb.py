"""How a command line is read."""

from types import SimpleNamespace

import pytest

from multitudes.cli.verb import _one_for_each, _value_of


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("d --set a=1 b.c=[1,2] d=x -q", "d --set a=1 --set b.c=[1,2] --set d=x -q"),
        ("--set a=1 --set b=2 c=3", "--set a=1 --set b=2 --set c=3"),
        ("--set a=1 data.jsonl", "--set a=1 data.jsonl"),
        ("data a=1 b=2", "data a=1 b=2"),  # nothing to set
        ("--set a=1 -m prime b=2", "--set a=1 -m prime b=2"),  # no longer behind it
    ],
)
def test_several_settings_may_follow_one_set(given, read):
    assert list(_one_for_each(given.split())) == read.split()


def test_a_file_is_no_setting(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data=1.jsonl").touch()
    given = ["--set", "a=1", "data=1.jsonl"]
    assert list(_one_for_each(given)) == given


@pytest.mark.parametrize(("kind", "word"), [("integer range", "N"), ("path", "PATH"), ("", "TEXT")])
def test_help_has_a_word_for_values_with_old_and_new_typer(kind, word):
    old = SimpleNamespace(
        param_type_name="option", is_flag=False, type=SimpleNamespace(name=kind or "text")
    )
    new = SimpleNamespace(
        param_type_name="option",
        is_flag=False,
        display_type=lambda _: f"<{kind.replace('integer', 'int')}>",
    )
    assert _value_of(old) == _value_of(new) == word
