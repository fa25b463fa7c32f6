"""Problem 18: --validation took labels away from training, unremarked, for good."""

from __future__ import annotations

import json

import pytest

from multitudes.tagger import Tagger

from .running import QUICK_ENCODER, TOPICS, run, topical, write_lines


def with_rare_labels(n: int, n_rare: int) -> list[dict]:
    """Topical texts, of which the first ones have a label that no other text has."""
    records = topical(n)
    for i in range(n_rare):
        records[i]["labels"] = [*records[i]["labels"], f"rare {i}"]
    return records


@pytest.fixture
def data(tmp_path):
    """Of 100 texts, 65 are the only one of some label."""
    return write_lines(tmp_path / "train.jsonl", with_rare_labels(100, 65))


def test_rare_labels_stay_in_training(data, tmp_path):
    found = run("train", data, "-o", tmp_path / "model", "--validation", 0.2)
    assert found.code == 0
    assert "validation: 20 of 100 instances are held out\n" in found.err
    assert "not learned" not in found.err
    assert "learning from 80 texts, 70 labels" in found.err
    tagger = Tagger.load(tmp_path / "model")
    (best,) = tagger.predict([topical(1)[0]["text"]], top_k=70)
    assert any(tag.label.startswith("rare") and tag.score > 0 for tag in best)


def test_a_smaller_part_is_held_out_where_labels_cannot_spare_more(data, tmp_path):
    found = run("train", data, "-o", tmp_path / "model", "--validation", 0.4)
    assert found.code == 0
    assert "35 of 100 instances are held out (40 were asked for; the others are" in found.err


@pytest.mark.parametrize("n_rare", [95, 100])
def test_labels_that_had_to_go_are_counted(tmp_path, n_rare):
    data = write_lines(tmp_path / "train.jsonl", with_rare_labels(100, n_rare))
    found = run("train", data, "-o", tmp_path / "model", "--validation", 0.2)
    assert found.code == 0
    lost = 20 if n_rare == 100 else 20 - 5
    assert f"all instances of {lost} of {n_rare + 5} labels, which are not learned" in found.err
    assert "--refit" in found.err


def test_refit_learns_from_all_data_afterwards(data, tmp_path):
    place = ["-o", tmp_path / "model", "--validation", 0.2, "--refit"]
    found = run("train", data, *place, "--test", data)
    assert found.code == 0
    assert "training again on all data" in found.err
    assert "learning from 100 texts" in found.err
    assert "validation (of the model before it was trained on all data):" in found.out
    tagger = Tagger.load(tmp_path / "model")
    assert tagger.calibration_report().n_instances == 20
    assert run("train", data, "-o", tmp_path / "whole").code == 0
    whole = Tagger.load(tmp_path / "whole")
    texts = ["leather buckle", "orbit moon"]
    assert tagger.predict(texts) == whole.predict(texts)
    assert len(tagger.predict_sets(texts)) == 2


def test_refit_of_an_encoder_takes_the_best_number_of_epochs(tmp_path):
    data = write_lines(tmp_path / "train.jsonl", topical(60))
    found = run(
        "train", data, "-o", tmp_path / "model", "--validation", 0.2, "--refit",
        "--checkpoint", tmp_path / "ck", *QUICK_ENCODER, "--set=training.patience=2", "--json",
    )  # fmt: skip
    assert found.code == 0
    tagger = Tagger.load(tmp_path / "model")
    n_epochs = tagger.settings["training.epochs"]
    assert 1 <= n_epochs <= 4
    assert f"training again on all data, for {n_epochs} epochs" in found.err
    assert json.loads(found.out)["n_instances"] == 60
    assert not (tmp_path / "ck").exists()


@pytest.mark.parametrize("options", [["--refit"], ["--refit", "--validation", "some.jsonl"]])
def test_refit_needs_a_share_to_give_back(data, tmp_path, options):
    found = run("train", data, "-o", tmp_path / "model", *options)
    assert found.code == 2
    assert "--validation 0.1 --refit" in found.err


def test_empty_sets_are_counted_and_can_be_ruled_out(tmp_path):
    noise = [{"text": f"word{i} word{i + 1}", "labels": [f"rare {i % 30}"]} for i in range(90)]
    data = write_lines(tmp_path / "train.jsonl", topical(100) + noise)
    found = run("train", data, "-o", tmp_path / "model", "--validation", 0.3)
    assert "instances get none, calibrate --min-size 1 gives each its best label" in found.err
    test = write_lines(tmp_path / "test.jsonl", noise)
    assert run("calibrate", tmp_path / "model", test, "--min-size", 1).code == 0
    sets = Tagger.load(tmp_path / "model").predict_sets(["unheard of", "leather buckle"])
    assert all(len(tags) >= 1 for tags in sets)
    assert set(TOPICS) & {tag.label for tag in sets[1]}
