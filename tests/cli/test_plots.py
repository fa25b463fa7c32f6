from __future__ import annotations

import sys

import pytest


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_a_figure_of_reliability_and_frequency(
    cli, predictions, test_file, train_file, tmp_path, suffix
):
    path = tmp_path / f"figure.{suffix}"
    result = cli("evaluate", predictions, test_file, "--train", train_file, "--plot", path)
    assert result.code == 0
    assert f"drawn to {path}" in result.err
    first = path.read_bytes()
    assert first.startswith(b"\x89PNG") == (suffix == "png")
    assert cli("evaluate", predictions, test_file, "--train", train_file, "--plot", path).code == 0
    assert path.read_bytes() == first


def test_scores_that_cannot_be_probabilities(cli, test_file, tmp_path):
    lines = ['{"labels": [["fruit", 7.5], ["fish", -3]]}\n'] * 30
    (tmp_path / "p.jsonl").write_text("".join(lines))
    result = cli("evaluate", tmp_path / "p.jsonl", test_file, "--plot", tmp_path / "f.png")
    assert result.code == 2
    assert "nothing to plot" in result.err


@pytest.mark.parametrize(
    ("path", "message"),
    [("f.bmp", "--plot writes .png, .svg, .pdf files"), ("no/f.png", "there is no folder no")],
)
def test_files_that_cannot_be_drawn(cli, tmp_path, monkeypatch, path, message):
    monkeypatch.chdir(tmp_path)
    result = cli("evaluate", "p.jsonl", "t.jsonl", "--plot", path)
    assert result.code == 2
    assert message in result.err


def test_without_matplotlib_the_extra_is_named(cli, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = cli("evaluate", "p.jsonl", "t.jsonl", "--plot", "f.png")
    assert result.code == 5
    assert "multitudes[plots]" in result.err
