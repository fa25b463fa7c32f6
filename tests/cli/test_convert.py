from __future__ import annotations

import json

import pytest


@pytest.mark.parametrize("name", ["out.csv", "out.tsv.gz", "out.jsonl.xz", "out.jsonl.zst"])
def test_there_and_back(cli, train_file, tmp_path, name):
    assert cli("convert", train_file, tmp_path / name, "-q").code == 0
    assert cli("convert", tmp_path / name, tmp_path / "back.jsonl", "-q").code == 0
    back = [json.loads(line) for line in (tmp_path / "back.jsonl").read_text().splitlines()]
    original = [json.loads(line) for line in train_file.read_text().splitlines()]
    assert [r["text"] for r in back] == [r["text"] for r in original]
    assert [sorted(r["labels"]) for r in back] == [r["labels"] for r in original]


def test_says_what_it_wrote(cli, train_file, tmp_path):
    assert "120 instances, 5 labels" in cli("convert", train_file, tmp_path / "o.csv").err


def test_read_and_write_settings(cli, tmp_path):
    (tmp_path / "in.csv").write_text("body|tags\nhello|a+b\n")
    result = cli(
        "convert", tmp_path / "in.csv", "-", "--format", "csv", "--to", "csv", "-q",
        "--read", "text_column=body", "--read", "label_column=tags",
        "--read", "delimiter=|", "--read", "label_separator=+", "--write", "label_separator=/",
    )  # fmt: skip
    assert result.code == 0
    assert '"hello","a/b"' in result.out


def test_stdin_to_stdout_is_json_lines(cli, train_file, monkeypatch):
    with train_file.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        result = cli("convert", "-", "-", "-q")
    assert len(result.out.splitlines()) == 120


def test_texts_are_no_features(cli, train_file, tmp_path):
    result = cli("convert", train_file, tmp_path / "out.txt")
    assert result.code == 3
    assert "features" in result.err


def test_list_settings(cli):
    result = cli("convert", "--list-settings")
    for name in ("json-lines", "text_column", "compression"):
        assert name in result.out


def test_groups_are_kept_and_what_stays_behind_is_said(cli, tmp_path):
    (tmp_path / "in.jsonl").write_text('{"text": "a", "group": ["g", "h"]}\n')
    (tmp_path / "groups.jsonl").write_text(
        '{"group": "h", "labels": ["x", "x"]}\n{"group": "g", "labels": []}\n'
    )
    arguments = (
        "convert", tmp_path / "in.jsonl", tmp_path / "out.csv",
        "--read", f"group_labels={tmp_path / 'groups.jsonl'}",
    )  # fmt: skip
    assert "not written: name a file with --write group_labels=FILE" in cli(*arguments).err
    result = cli(*arguments, "--write", f"group_labels={tmp_path / 'copy.jsonl'}")
    assert "not written" not in result.err
    assert (tmp_path / "out.csv").read_text() == '"text","group"\n"a","h;g"\n'
    assert (tmp_path / "copy.jsonl").read_text() == (
        '{"group":"h","labels":["x","x"]}\n{"group":"g","labels":[]}\n'
    )


def test_data_is_not_written_over(cli, tmp_path):
    data = tmp_path / "trn.jsonl"
    data.write_text('{"text": "a", "labels": ["x"], "group": "g"}\n')
    other = tmp_path / "other.jsonl"
    for arguments in (
        [data, data],
        [data, tmp_path],  # a folder of the LF layout, with a file trn.jsonl
        [tmp_path, tmp_path],
        [tmp_path, data],
        [data, other, "--write", f"group_labels={data}"],
        [tmp_path / "x.csv", data, "--read", f"group_labels={data}"],
    ):
        result = cli("convert", *arguments)
        assert result.code == 2
        assert "would be written over the data" in result.err
    assert "x" in data.read_text()
    assert not other.exists()
