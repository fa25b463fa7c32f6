"""The whole way on real data: train, predict, evaluate."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.real


def test_titles_in_a_folder(cli, shared_data, tmp_path):
    folder = shared_data("eurlex-titles")
    model, predictions = tmp_path / "model", tmp_path / "predictions.jsonl.gz"
    trained = cli("train", folder, "-o", model, "--test", folder, "--json")
    assert trained.json["n_instances"] == 17_032
    assert cli("predict", model, folder, "-o", predictions, "-q").code == 0
    values = cli("evaluate", predictions, folder, "--train", folder, "--json").json["values"]
    assert values["P@1"] == pytest.approx(trained.json["test"]["values"]["P@1"])
    assert values["P@1"] > 0.85
    assert values["PSP@1"] < values["P@1"]


def test_features_in_the_sparse_format(cli, shared_data, tmp_path):
    folder = shared_data("bibtex")
    model = tmp_path / "model"
    trained = cli(
        "train", folder / "train.txt.xz", "-o", model, "--test", folder / "test.txt.xz", "--json",
        "-m", "xr-linear",
    )  # fmt: skip
    assert trained.json["n_labels"] == 159
    assert trained.json["test"]["values"]["P@1"] > 0.55
    predicted = cli("predict", model, folder / "test.txt.xz", "-k", 1)
    assert len(predicted.out.splitlines()) == 2_515


def test_titles_whose_labels_are_known_for_groups(cli, shared_data, tmp_path):
    folder = shared_data("eurlex-titles")
    made = cli("group", folder, "--random", 4, "-o", tmp_path, "--keep-labels", "--diagnose", "-q")
    assert "4,258 groups of 4.0 instances" in made.out
    trained = cli(
        "train", tmp_path / "known.jsonl", "--groups", tmp_path / "groups.jsonl",
        "-o", tmp_path / "model", "-m", "xr-linear", "--test", folder, "--json", "-q",
    )  # fmt: skip
    groups = trained.json["groups"]
    assert groups["accuracy"] > 0.7
    assert groups["chance"] == pytest.approx(0.256, abs=0.01)
    assert trained.json["test"]["values"]["P@1"] > 0.83
