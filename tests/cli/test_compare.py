from __future__ import annotations

from .conftest import write_lines


def test_better_is_better(cli, tmp_path):
    truth = write_lines(tmp_path / "t.jsonl", [{"text": "x", "labels": ["a"]}] * 40)
    good = write_lines(tmp_path / "good.jsonl", [{"labels": ["a", "b"]}] * 40)
    bad = write_lines(tmp_path / "bad.jsonl", [{"labels": ["b", "a"]}] * 40)
    difference = cli("compare", good, bad, truth, "--json").json["differences"]["P@1"]
    assert difference["difference"] == 1.0
    assert difference["p_value"] < 0.01
    result = cli("compare", good, bad, truth, "--ks", "1")
    assert "good.jsonl" in result.out
    assert "+100.00" in result.out


def test_equal_is_not_better(cli, predictions, test_file):
    result = cli("compare", predictions, predictions, test_file, "--json", "--resamples", 20)
    assert result.json["differences"]["P@1"]["difference"] == 0
    assert result.json["differences"]["P@1"]["p_value"] == 1
