from __future__ import annotations

import json

import pytest

from multitudes.tagger import Tagger


def lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_writes_what_the_tagger_says(model, test_file, predictions):
    found = lines(predictions.read_text())
    texts = [record["text"] for record in lines(test_file.read_text())]
    tags = Tagger.load(model).predict(texts, top_k=5)
    assert [line["uid"] for line in found] == [f"u{i}" for i in range(120, 150)]
    for line, expected in zip(found, tags, strict=True):
        assert [entry["label"] for entry in line["labels"]] == [tag.label for tag in expected]


def test_stdout_is_the_default_and_stays_clean(cli, model, test_file):
    result = cli("predict", model, test_file, "-k", 2)
    assert len(lines(result.out)) == 30
    assert {len(line["labels"]) for line in lines(result.out)} == {2}


def test_says_what_it_wrote(cli, model, test_file, tmp_path):
    result = cli("predict", model, test_file, "-o", tmp_path / "p.jsonl.gz", "-k", 1)
    assert "30 instances, 1.0 labels each (30 in all), written to" in result.err
    assert (tmp_path / "p.jsonl.gz").read_bytes()[:2] == b"\x1f\x8b"


def test_threshold(cli, model, test_file):
    result = cli("predict", model, test_file, "--threshold", 2)
    assert {len(line["labels"]) for line in lines(result.out)} == {0}


def test_one_text(cli, model):
    result = cli("predict", model, "--text", "juicy apple", "-k", 1)
    assert "fruit" in result.out
    assert "belts" not in result.out
    result = cli("predict", model, "--text", "juicy apple", "--text", "moon", "--json", "-k", 1)
    assert [entry["labels"][0]["label"] for entry in result.json] == ["fruit", "planets"]


def test_explain_shows_the_words_behind_a_label(cli, model):
    result = cli("predict", model, "--text", "juicy apple", "-k", 1, "--explain")
    assert "fruit: score" in result.out
    assert "juicy +" in result.out


def test_reads_stdin(cli, model, tmp_path, monkeypatch):
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "orbit of the moon"}\n')
    with source.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        (line,) = lines(cli("predict", model, "-", "-k", 1).out)
    assert line["row"] == 0
    assert line["labels"][0]["label"] == "planets"


def test_labels_the_model_does_not_know_do_not_matter(cli, model, tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "moon", "labels": ["never seen"]}\n')
    result = cli("predict", model, source)
    assert result.code == 0
    assert "never seen" not in result.err


def test_skipped_lines_are_reported(cli, model, tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "moon"}\n{broken\n')
    result = cli("predict", model, source, "--on-error", "skip")
    assert "skipped 1 bad lines" in result.err


def test_a_failed_run_leaves_the_old_file(cli, model, tmp_path):
    out = tmp_path / "p.jsonl"
    out.write_text("old")
    result = cli("predict", model, tmp_path / "nowhere.jsonl", "-o", out)
    assert result.code == 3
    assert out.read_text() == "old"


def test_an_output_folder_that_does_not_exist(cli, model, test_file, tmp_path):
    result = cli("predict", model, test_file, "-o", tmp_path / "no" / "p.jsonl")
    assert result.code == 2
    assert "there is no folder" in result.err


@pytest.mark.parametrize("name", ["data.jsonl", "./x/../data.jsonl", "link.jsonl", "hard.jsonl"])
def test_data_is_not_written_over(cli, tmp_path, test_file, name):
    data = tmp_path / "data.jsonl"
    data.write_bytes(test_file.read_bytes())
    (tmp_path / "x").mkdir()
    (tmp_path / "link.jsonl").symlink_to(data)
    (tmp_path / "hard.jsonl").hardlink_to(data)
    result = cli("predict", "no-model", data, "-o", tmp_path / name)  # before a model is loaded
    assert result.code == 2
    assert "would be written over the data that is read from" in result.err
    assert data.read_bytes() == test_file.read_bytes()


def test_a_folder_of_data_is_not_written_over(cli, model, tmp_path, test_file):
    (tmp_path / "tst.jsonl").write_bytes(test_file.read_bytes())
    result = cli("predict", model, tmp_path, "-o", tmp_path / "tst.jsonl")
    assert (result.code, "would be written over" in result.err) == (2, True)
    for _ in range(2):  # a file of another name may lie there, and be replaced
        assert cli("predict", model, tmp_path, "-o", tmp_path / "out.jsonl").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--text", "cat", "test.jsonl"], "data or --text, not both, got test.jsonl and --text"),
        ([], "predict needs data or --text"),
        (["test.jsonl", "--proba", "--sets"], "--proba or --sets, not both"),
    ],
)
def test_options_that_do_not_go_together(cli, arguments, message):
    result = cli("predict", "no-model", *arguments)
    assert result.code == 2
    assert message in result.err


def test_a_threshold_that_is_no_number(cli, model, test_file, tmp_path):
    result = cli("predict", model, test_file, "--threshold", "nan", "-o", tmp_path / "p.jsonl")
    assert result.code == 2
    assert "threshold must be a number, got nan" in result.err
    assert not (tmp_path / "p.jsonl").exists()


@pytest.mark.parametrize(
    ("content", "message"), [("", "stdin is empty"), ('{"text": "a"}\n{bad\n', "stdin:2: ")]
)
def test_messages_name_stdin(cli, model, tmp_path, monkeypatch, content, message):
    (tmp_path / "in").write_text(content)
    with (tmp_path / "in").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        result = cli("predict", model, "-")
    assert result.code == 3
    assert f"error: {message}" in result.err


def test_explain_is_refused_before_anything_is_shown(cli, model, monkeypatch):
    monkeypatch.setattr("multitudes.tagger.explanations.Explains", type("Nobody", (), {}))
    result = cli("predict", model, "--text", "juicy apple", "--explain")
    assert result.code == 2
    assert "cannot explain its scores" in result.err
    assert result.out == ""


def test_explanations_as_a_page(cli, model, tmp_path):
    path = tmp_path / "why.html"
    texts = ("--text", "juicy <apple>", "--text", "moon")
    result = cli("predict", model, *texts, "--explain", "--html", path, "-k", 1)
    assert (result.code, result.out) == (0, "")
    page = path.read_text()
    assert page.startswith("<!doctype html>")
    assert "juicy &lt;apple&gt;" in page
    assert "<apple>" not in page
    assert "rgba(" in page
    result = cli("predict", model, *texts, "--html", path)
    assert result.code == 2
    assert "add --explain" in result.err


def test_only_some_labels(cli, model, test_file, tmp_path):
    (tmp_path / "some.txt").write_text("fruit\n\nfish\n")
    for given in ("fruit,fish", tmp_path / "some.txt"):
        found = lines(cli("predict", model, test_file, "--labels", given, "-k", 5).out)
        assert {len(line["labels"]) for line in found} == {2}
        assert {tag["label"] for line in found for tag in line["labels"]} == {"fruit", "fish"}
    shown = cli("predict", model, "--text", "moon", "--labels", "fish,music", "--json").json
    assert {tag["label"] for tag in shown[0]["labels"]} == {"fish", "music"}


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ("fruit,fihs", 3, "did you mean 'fish'?"),
        ("labels.txt", 2, "there is no such file, and no such label"),
        (",", 2, "there is no such file, and no such label"),
    ],
)
def test_labels_that_are_not_there(cli, model, test_file, given, code, message):
    result = cli("predict", model, test_file, "--labels", given)
    assert (result.code, message in result.err) == (code, True)


def test_a_list_of_labels_of_another_model(cli, model, test_file, tmp_path):
    (tmp_path / "other.txt").write_text("cats\ndogs\n")
    result = cli("predict", model, test_file, "--labels", tmp_path / "other.txt")
    assert result.code == 3
    assert "none of the 2 labels" in result.err
    (tmp_path / "other.txt").write_text("cats\nfish\n")
    result = cli("predict", model, test_file, "--labels", tmp_path / "other.txt", "-o", "-")
    assert "1 of 2 labels are not labels of the model, e.g. 'cats'" in result.err


def test_only_labels_that_instances_do_not_have(cli, model, test_file):
    found = lines(cli("predict", model, test_file, "--only-new", "-k", 3).out)
    has = [set(record["labels"]) for record in lines(test_file.read_text())]
    for line, own in zip(found, has, strict=True):
        assert not own & {tag["label"] for tag in line["labels"]}
        assert len(line["labels"]) == min(3, 5 - len(own))


def test_only_new_of_data_without_labels(cli, model, tmp_path):
    (tmp_path / "in.jsonl").write_text('{"text": "moon"}\n')
    result = cli("predict", model, tmp_path / "in.jsonl", "--only-new", "-o", tmp_path / "p.jsonl")
    assert "--only-new left nothing out" in result.err
