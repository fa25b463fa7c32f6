"""Problem 12: at 70 columns names stood one letter per line, and pipes were padded to 160."""

from __future__ import annotations

import re

import pytest

from multitudes.cli.printing.show import console, table
from multitudes.cli.printing.wrapping import wrapped

WORDS = re.compile(r"\w+")


@pytest.fixture(params=[70, 50])
def columns(request, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(request.param))
    return request.param


@pytest.fixture
def verbs(model, test_file, train_file, predictions):
    """Every verb that shows something, with what its output must hold unbroken."""
    return [
        (["evaluate", predictions, test_file, "--train", train_file, "--intervals"], "PSnDCG"),
        (["compare", predictions, predictions, test_file], "nDCG@5"),
        (["inspect", model], "max_leaf_size"),
        (["inspect", model, "--tree"], "planets"),
        (["train", "--list-settings", "-m", "xr-linear"], "max_leaf_size"),
        (["convert", "--list-settings"], "label_separator"),
        (["predict", model, "--text", "juicy apple of the moon", "--explain"], "probability|score"),
        (["predict", "--help"], "--output-format"),
        (["version"], "multitudes"),
    ]


@pytest.fixture
def predictions(cli, model, test_file, tmp_path):
    path = tmp_path / "p.jsonl"
    assert cli("predict", model, test_file, "-o", path, "-q").code == 0
    return path


def test_every_verb_fits(cli, verbs, columns):
    for arguments, word in verbs:
        result = cli(*arguments)
        assert result.code == 0, result.err
        lines = result.out.splitlines()
        several = [line for line in lines if len(line.split()) > 1]  # a path is not broken
        assert max(map(len, several)) <= columns, (arguments, max(several, key=len))
        assert re.search(word, result.out), arguments
        assert not [line for line in lines if line != line.rstrip()], arguments


def test_pipes_are_not_padded(cli, verbs, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    for arguments, word in verbs:
        lines = cli(*arguments).out.splitlines()
        assert not [line for line in lines if line != line.rstrip()], arguments
        assert any(re.search(word, line) for line in lines)


def test_a_table_that_does_not_fit_becomes_lists(capsys, columns):
    rows = [[f"metric number {i}", *["79.31 [78.20, 80.40]"] * 3] for i in range(2)]
    console().print(table(["", "@1", "@3", "@5"], rows))
    shown = capsys.readouterr().out.splitlines()
    assert shown[:3] == [
        "metric number 0",
        "  @1  79.31 [78.20, 80.40]",
        "  @3  79.31 [78.20, 80.40]",
    ]


def test_a_table_that_fits_stays_a_table(capsys, columns):
    console().print(table(["label", "score"], [["belts", "0.93"], ["fruit", "0.1"]]))
    assert capsys.readouterr().out.splitlines()[2:] == ["belts   0.93", "fruit    0.1"]


def test_remarks_and_errors_wrap_at_words(cli, model, columns, monkeypatch):
    result = cli("evaluate", model, "some/file/with/a/rather/long/name/that/goes/on.jsonl")
    lines = result.err.splitlines()
    assert len(lines) > 1
    plain = "".join(lines).replace(" ", "")
    monkeypatch.delenv("COLUMNS")
    once = cli("evaluate", model, "some/file/with/a/rather/long/name/that/goes/on.jsonl").err
    assert once.count("\n") == 1  # nothing to fit into: one line, for programs
    assert once.replace(" ", "").strip() == plain
    assert set(WORDS.findall(result.err)) == set(WORDS.findall(once))


def test_a_word_and_its_number_stay_together():
    line = "  level 0: score 0.5 = " + ", ".join(f"word{i} +0.{i}5" for i in range(9))
    for width in range(30, 90):
        found = wrapped(line, width, hanging=4).splitlines()
        assert all(len(part) <= width for part in found)
        assert not [part for part in found if part.strip().startswith("+")]
        assert " ".join(part.strip() for part in found) == line.strip()
