"""Probabilities and label sets on the command line."""

from __future__ import annotations

import json

import pytest

from multitudes.tagger import Tagger


@pytest.fixture
def calibrated(cli, model, train_file, tmp_path):
    """The small model, calibrated on data it knows: enough to see what the verbs do."""
    folder = tmp_path / "calibrated"
    result = cli("calibrate", model, train_file, "-o", folder, "--sets", "expected-f1")
    assert result.code == 0
    assert "calibrated on 120 instances" in result.out
    assert "sets: by expected-f1, tuned for micro F1" in result.out
    return folder


def labels(result):
    return [json.loads(line)["labels"] for line in result.out.splitlines()]


def test_sets_and_probabilities_are_the_taggers(cli, calibrated, test_file):
    tagger = Tagger.load(calibrated)
    texts = [json.loads(line)["text"] for line in test_file.read_text().splitlines()]
    for option, expected in (
        ("--sets", tagger.predict_sets(texts)),
        ("--proba", tagger.predict_proba(texts)),
    ):
        found = labels(cli("predict", calibrated, test_file, option))
        assert [[tag["label"] for tag in row] for row in found] == [
            [tag.label for tag in row] for row in expected
        ]
        assert all(0 <= tag["score"] <= 1 for row in found for tag in row)


def test_sets_can_be_cut(cli, calibrated, test_file):
    whole, cut = (
        labels(cli("predict", calibrated, test_file, "--sets", *more)) for more in ((), ("-k", 1))
    )
    assert [row[:1] for row in whole] == cut
    assert max(map(len, whole)) > 1


def test_a_text_shows_its_probabilities(cli, calibrated):
    shown = cli("predict", calibrated, "--text", "leather buckle", "--proba")
    assert "probability" in shown.out
    as_json = cli("predict", calibrated, "--text", "leather buckle", "--sets", "--json").json
    tags = Tagger.load(calibrated).predict_sets(["leather buckle"])[0]
    assert [tag["label"] for tag in as_json[0]["labels"]] == [tag.label for tag in tags]


def test_the_settings_are_those_asked_for(cli, model, train_file, tmp_path):
    result = cli(
        "calibrate", model, train_file, "-o", tmp_path / "m", "--method", "temperature",
        "--sets", "label-thresholds", "--metric", "example", "--candidates", 3, "--min-size", 1,
        "--json",
    )  # fmt: skip
    assert result.json["n_pairs"] == 360
    assert result.json["sets"] == "label-thresholds"
    assert result.json["error_after"] < result.json["error_before"]
    config = Tagger.load(tmp_path / "m").calibrated_.config
    expected = {"method": "temperature", "sets": "label-thresholds", "metric": "example",
                "candidates": 3, "min_size": 1}  # fmt: skip
    assert config.to_dict() == expected


def test_a_model_can_be_calibrated_in_place(cli, model, train_file, tmp_path):
    folder = tmp_path / "model"
    Tagger.load(model).save(folder)
    assert cli("calibrate", folder, train_file, "-q").code == 0
    assert Tagger.load(folder, verify=True).calibrated_ is not None


def test_a_model_without_probabilities_says_what_to_do(cli, model, test_file):
    for option in ("--sets", "--proba"):
        result = cli("predict", model, test_file, option)
        assert result.code == 2
        assert "multitudes calibrate MODEL DATA" in result.err
        assert not result.out


def test_unknown_settings_are_refused(cli, model, train_file):
    result = cli("calibrate", model, train_file, "--sets", "best")
    assert result.code == 2
    assert "must be one of" in result.err


def test_training_with_a_validation_part_calibrates(cli, train_file, tmp_path):
    folder = tmp_path / "model"
    result = cli("train", train_file, "-o", folder, "-m", "xr-linear", "--validation", 0.3)
    assert result.code == 0
    assert "reliability error" in result.err
    assert Tagger.load(folder).predict_sets(["leather buckle"])[0]


def test_a_generator_keeps_its_sets_unless_a_rule_is_named(cli, train_file, test_file, tmp_path):
    quick = ["training.epochs=1", "network.hidden=8", "network.layers=1", "words.dim=8"]
    settings = [word for one in quick for word in ("--set", one)]
    model = tmp_path / "model"
    assert cli("train", train_file, "-o", model, "-m", "otseq2set", *settings, "-q").code == 0
    generated = cli("predict", model, test_file, "--sets").out
    kept = cli("calibrate", model, train_file, "-q")
    assert "as the model generates them; --sets RULE" in kept.out
    assert cli("predict", model, test_file, "--sets").out == generated
    asked = cli("calibrate", model, train_file, "--sets", "threshold", "--min-size", 1, "-q")
    assert "sets: by threshold, tuned for micro F1" in asked.out
    by_rule = labels(cli("predict", model, test_file, "--sets"))
    expected = Tagger.load(model).predict_sets(
        [json.loads(line)["text"] for line in test_file.read_text().splitlines()]
    )
    assert [[tag["label"] for tag in row] for row in by_rule] == [
        [tag.label for tag in row] for row in expected
    ]
    assert all(by_rule)
