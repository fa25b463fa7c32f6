"""Problem 15, the command line: explanations without their texts, unknown words unremarked."""

from __future__ import annotations

import pytest

TEXTS = ["--text", "juicy apple", "--text", "moon crater"]


def test_each_text_has_its_table_and_its_explanations(cli, model):
    lines = cli("predict", model, *TEXTS, "--explain", "-k", 2).out.splitlines()
    first, second = lines.index("juicy apple"), lines.index("moon crater")
    parts = lines[first:second], lines[second:]
    for part, label, word in zip(parts, ("fruit", "planets"), ("apple", "moon"), strict=True):
        text = "\n".join(part)
        assert text.index(f"\n{label} ") < text.index(f"\n{label}: score")
        assert f"{word} +" in text
        assert text.count(": score") == 2 + text.count("level")
    assert "moon" not in "\n".join(parts[0])
    assert "apple" not in "\n".join(parts[1])


def test_json_has_the_explanations_too(cli, model):
    found = cli("predict", model, *TEXTS, "--explain", "-k", 1, "--json").json
    steps = found[0]["labels"][0]["explanation"]["steps"]
    assert "apple" in [word for word, _ in steps[-1]["words"]]


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("xyzzy frobnicate", "no word of 'xyzzy frobnicate' is known to the model"),
        ("", "this text is empty"),
        ("  ", "this text is empty"),
    ],
)
def test_texts_without_a_known_word_are_remarked(cli, model, text, remark):
    result = cli("predict", model, "--text", "moon", "--text", text)
    assert result.err.count("the scores are those of any text") == 1
    assert remark in result.err
    found = cli("predict", model, "--text", "moon", "--text", text, "--json").json
    assert [entry.get("no_known_word") for entry in found] == [None, True]
    assert "any text" not in cli("predict", model, "--text", text, "-q").err


def test_instances_without_a_known_word_are_counted(cli, model, tmp_path):
    (tmp_path / "in.jsonl").write_text('{"text": "moon"}\n{"text": "xyzzy"}\n{"text": ""}\n')
    result = cli("predict", model, tmp_path / "in.jsonl", "-o", tmp_path / "p.jsonl")
    assert "2 of 3 instances have no word that the model knows" in result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["in.jsonl", "--explain"], "--explain goes with --text"),
        (["--text", "moon", "--only-new"], "--only-new leaves out labels that are in DATA"),
        (["--text", "moon", "-o", "p.jsonl"], "--text shows labels on the terminal"),
    ],
)
def test_options_that_would_do_nothing_are_refused(cli, arguments, message):
    result = cli("predict", "no-model", *arguments)
    assert result.code == 2
    assert message in result.err
