"""Problem 9, the command line: no update, and models were replaced without a word."""

from __future__ import annotations

import io
import json
import shutil

import pytest

from multitudes.cli.files import targets
from multitudes.tagger import Tagger
from tests.cli.conftest import records, write_lines

OVERLAP = ["--overlap", 2, "--set", "max_leaf_size=2"]


@pytest.fixture
def new_data(tmp_path):
    """Texts of known labels and of a new one, whose words are known."""
    more = [{**line, "uid": "n" + line["uid"]} for line in records(60)[40:]]
    added = [
        {"uid": f"a{i}", "text": "leather strap guitar", "labels": ["guitar straps"]}
        for i in range(8)
    ]
    return write_lines(tmp_path / "new.jsonl", more + added)


@pytest.fixture
def trained(model, tmp_path):
    """A model of one's own."""
    return shutil.copytree(model, tmp_path / "model")


@pytest.mark.parametrize("settings", [[], OVERLAP], ids=["tree", "disentangled"])
def test_update_teaches_a_new_label_and_says_what_changed(
    cli, train_file, tmp_path, new_data, settings
):
    folder = tmp_path / "trained"
    assert cli("train", train_file, "-o", folder, "-m", "xr-linear", "-q", *settings).code == 0
    result = cli("update", folder, new_data)
    assert result.code == 0, result.err
    assert "learned from 28 instances" in result.out
    assert "1 label added: guitar straps" in result.out
    assert "updated in place" in result.err
    assert Tagger.load(folder).classes_[-1] == "guitar straps"
    found = cli("predict", folder, "--text", "leather guitar strap", "--json", "-k", 2).json
    assert "guitar straps" in [tag["label"] for tag in found[0]["labels"]]


def test_the_old_model_stays_where_another_folder_is_named(cli, trained, new_data, tmp_path):
    before = (trained / "manifest.json").read_bytes()
    result = cli("update", trained, new_data, "-o", tmp_path / "updated", "--json")
    assert (trained / "manifest.json").read_bytes() == before
    assert result.json["labels_added"] == ["guitar straps"]
    assert result.json["n_labels_untouched"] == 0
    assert len(Tagger.load(tmp_path / "updated").classes_) == result.json["n_labels"] == 6


def test_labels_are_removed(cli, trained, tmp_path):
    (tmp_path / "old.txt").write_text("music\nwas never there\n")
    result = cli("update", trained, "--remove-labels", tmp_path / "old.txt")
    assert result.code == 0
    assert "1 label removed: music" in result.out
    assert "1 of 2 labels are not labels of the model, e.g. 'was never there'" in result.err
    assert sorted(Tagger.load(trained).classes_) == ["belts", "fish", "fruit", "planets"]


def test_unknown_words_are_not_passed_over_in_silence(cli, trained, tmp_path):
    lines = [{"text": "quux frobnicate xyzzy", "labels": ["fish"]}] * 3
    result = cli("update", trained, write_lines(tmp_path / "odd.jsonl", lines))
    assert result.code == 0
    assert "9 of 9 words (100 %) are unknown" in result.out
    assert "train again on all data" in result.out
    assert "4 of them without a new text" in result.out


def test_the_calibration_is_discarded_or_made_again(cli, trained, new_data, test_file):
    assert cli("calibrate", trained, test_file, "-q", "--sets", "expected-f1").code == 0
    result = cli("update", trained, new_data)
    assert f"multitudes calibrate {trained} DATA" in " ".join(result.out.split())
    assert cli("predict", trained, "--text", "moon", "--proba").code == 2
    assert cli("calibrate", trained, test_file, "-q", "--sets", "expected-f1").code == 0
    result = cli("update", trained, new_data, "--calibrate", test_file)
    assert "calibrated again" in result.out
    assert cli("predict", trained, "--text", "moon", "--proba").code == 0
    assert Tagger.load(trained).calibrated_.config.sets == "expected-f1"


@pytest.mark.parametrize(
    ("lines", "code", "message"),
    [
        ([{"text": "moon", "labels": []}], 3, "none of the 1 instances has a label"),
        ([], 3, "is empty"),
    ],
)
def test_an_update_that_cannot_work_leaves_the_model(cli, trained, tmp_path, lines, code, message):
    before = (trained / "manifest.json").read_bytes()
    result = cli("update", trained, write_lines(tmp_path / "bad.jsonl", lines))
    assert (result.code, message in result.err) == (code, True), result.err
    assert (trained / "manifest.json").read_bytes() == before


def test_nothing_to_update(cli, model):
    result = cli("update", model)
    assert result.code == 2
    assert "multitudes update MODEL DATA" in result.err


def test_train_does_not_replace_a_model_without_a_word(cli, trained, new_data):
    before = (trained / "manifest.json").read_bytes()
    result = cli("train", new_data, "-o", trained)
    assert result.code == 2
    for words in ("holds a model already", "5 labels", "--force", "multitudes update"):
        assert words in result.err
    assert (trained / "manifest.json").read_bytes() == before
    assert cli("train", new_data, "-o", trained, "--force", "-q").code == 0
    assert "guitar straps" in Tagger.load(trained).classes_


@pytest.mark.parametrize(("answer", "code"), [("n\n", 2), ("\n", 2), ("y\n", 0)])
def test_on_a_terminal_it_asks(cli, trained, train_file, monkeypatch, answer, code):
    monkeypatch.setattr(targets, "_can_ask", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    before = (trained / "manifest.json").read_bytes()
    result = cli("train", train_file, "-o", trained, "-q")
    assert result.code == code
    assert "Replace it? [y/N]" in " ".join(result.err.split())
    assert ((trained / "manifest.json").read_bytes() == before) == (code == 2)


def test_calibrate_says_that_it_rewrites_the_model(cli, trained, test_file, tmp_path):
    assert f"{trained}: rewritten in place" in cli("calibrate", trained, test_file).err
    assert "in place" in cli("calibrate", "--help").out
    result = cli("calibrate", trained, test_file, "-o", tmp_path / "other")
    assert f"saved to {tmp_path / 'other'}" in result.err


def test_the_card_keeps_the_history(cli, trained, new_data, test_file):
    cli("update", trained, new_data)
    cli("calibrate", trained, test_file)
    history = cli("inspect", trained, "--json").json["history"]
    assert [event["verb"] for event in history] == ["train", "update", "calibrate"]
    assert history[1]["data"]["n_instances"] == 28
    assert json.loads((trained / "card.json").read_text())["events"] == history
