"""Problem 14: errors of the command line spoke Python, and did not say what the file has."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from multitudes import DataError
from multitudes.data import ReadOptions, read_dataset


@pytest.mark.parametrize(
    ("name", "content", "arguments", "in_flags", "in_python"),
    [
        ("d.jsonl", '{"text": 1}\n', [], "--on-error skip", "on_error='skip'"),
        ("d.csv", "x,y\na,b\n", ["--read", "header=yes"], "--read text_column=NAME", "text_column"),
        (
            "d.csv",
            "text,labels\n" + "t,a\n" * 1000 + "".join(f't,"a{i},b"\n' for i in range(1500)),
            [],
            "--read label_separator=,",
            "label_separator=','",
        ),
        (
            "d.jsonl",
            '{"text": "", "labels": [-1]}\n',
            [],
            "--read label_kind=names",
            "label_kind='names'",
        ),
    ],
)
def test_settings_are_flags_for_a_command_and_python_for_python(
    cli,
    tmp_path: Path,
    name: str,
    content: str,
    arguments: list[str],
    in_flags: str,
    in_python: str,
) -> None:
    (tmp_path / name).write_text(content)
    result = cli("convert", tmp_path / name, tmp_path / "out.jsonl", *arguments)
    assert result.code == 3
    assert in_flags in result.err
    assert in_python not in result.err.replace(in_flags, "")
    settings = dict(argument.split("=") for argument in arguments[1:])
    with pytest.raises(DataError) as caught:
        read_dataset(tmp_path / name, options=ReadOptions(**settings))  # type: ignore[arg-type]
    assert in_python in str(caught.value)
    assert "--" not in str(caught.value)


def test_skip_empty_is_a_flag(cli, tmp_path: Path) -> None:
    truth, found = tmp_path / "truth.jsonl", tmp_path / "found.jsonl"
    truth.write_text('{"text": "a", "labels": []}\n{"text": "b", "labels": ["x"]}\n')
    line = '{"row": %d, "labels": [{"label": "x", "score": 1}]}\n'
    found.write_text(line % 0 + line % 1)
    result = cli("evaluate", found, truth)
    assert result.code == 0
    assert "--skip-empty" in result.out
    assert "skip_empty" not in result.out


def test_a_table_without_labels_lists_its_columns(cli, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("id,Title,Section,Year\n1,a,b,1999\n")
    result = cli("train", tmp_path / "d.csv", "-o", tmp_path / "model")
    assert result.code == 3
    assert "(it has ['id', 'Title', 'Section', 'Year'])" in result.err
    assert "name another with --read label_column=NAME" in result.err
    assert not (tmp_path / "model").exists()


def test_every_verb_that_needs_labels_says_so(cli, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("id,Title,Section\n1,a,b\n")
    (tmp_path / "found.jsonl").write_text('{"row": 0, "labels": [{"label": "b", "score": 1}]}\n')
    for arguments in (
        ["evaluate", tmp_path / "found.jsonl", tmp_path / "d.csv"],
        ["group", tmp_path / "d.csv", "--random", 2, "-o", tmp_path / "grouped"],
    ):
        result = cli(*arguments)
        assert result.code == 3
        assert "(it has ['id', 'Title', 'Section'])" in result.err
        assert "--read label_column=NAME" in result.err
    section = ["--read", "label_column=Section"]
    assert cli("evaluate", tmp_path / "found.jsonl", tmp_path / "d.csv", *section).code == 0


def test_a_json_array_on_stdin_is_read(cli, tmp_path: Path, monkeypatch) -> None:
    array = b'[{"text": "a", "labels": ["x"]},\n {"text": "b", "labels": ["y"]}]'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(array)))
    out = tmp_path / "out.jsonl"
    assert cli("convert", "-", out).code == 0
    assert read_dataset(out).texts == ("a", "b")


def test_an_unknown_setting_names_the_flag(cli, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("text,labels\na,b\n")
    result = cli("convert", tmp_path / "d.csv", "out.jsonl", "--read", "text_colum=text")
    assert result.code == 2
    assert "--read has no setting 'text_colum': did you mean 'text_column'?" in result.err
