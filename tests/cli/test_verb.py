"""How a command line is read."""

import pytest

from multitudes.cli.verb import _one_for_each


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
