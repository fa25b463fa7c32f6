from __future__ import annotations

import json
import re

import pytest

from multitudes.cli import main
from multitudes.tagger import Tagger


def test_trains_a_model_that_tags(model):
    tagger = Tagger.load(model, verify=True)
    assert tagger.predict(["juicy apple orchard"], top_k=1)[0][0].label == "fruit"


def test_evaluates_on_test_data_and_says_what_it_did(cli, train_file, test_file, tmp_path):
    arguments = ("--test", test_file, "--budget", "none")
    result = cli("train", train_file, "-o", tmp_path / "m", *arguments)
    assert result.code == 0
    assert "auto" not in result.err
    assert "one-vs-all, because 5 labels and 120 instances" in result.err
    assert f"saved to {tmp_path / 'm'}" in result.err
    assert "P" in result.out
    assert "30 instances, 5 labels" in result.out


def test_json(cli, train_file, test_file, tmp_path):
    result = cli(
        "train", train_file, "-o", tmp_path / "m", "--test", test_file,
        "--validation", 0.25, "--json", "-m", "xr-linear",
    )  # fmt: skip
    assert result.json["n_instances"] == 90
    assert result.json["validation"]["n_instances"] == 30
    assert result.json["test"]["values"]["P@1"] > 0.8
    assert result.json["choice"] == "xr-linear, as asked for"


def test_settings_reach_the_model(cli, train_file, tmp_path):
    result = cli(
        "train", train_file, "-o", tmp_path / "m", "-m", "xr-linear", "-q",
        "--set", "features.min_df=3", "features.word_ngrams=[1,2]", "--seed", 4,
        "--threads", 1,
    )  # fmt: skip
    assert result.code == 0
    assert result.err == ""
    tagger = Tagger.load(tmp_path / "m")
    assert tagger.features_.min_df == 3
    assert tagger.features_.word_ngrams == (1, 2)
    assert tagger.random_state == 4


def test_unknown_settings_and_models_suggest_the_nearest_before_the_work(cli, tmp_path):
    result = cli("train", "nowhere.jsonl", "-o", tmp_path / "m", "--set", "features.mindf=3")
    assert result.code == 2
    assert "did you mean 'features.min_df'?" in result.err
    result = cli("train", "nowhere.jsonl", "-o", tmp_path / "m", "-m", "parable")
    assert result.code == 2
    assert "did you mean 'parabel'?" in result.err
    assert not (tmp_path / "m").exists()


def test_list_settings(cli):
    result = cli("train", "--list-settings", "-m", "parabel")
    assert "Settings of parabel" in result.out
    assert "features.min_df" in result.out
    rows = {row["name"]: row for row in cli("train", "--list-settings", "--json").json}
    assert "texts" in rows["features.min_df"]["help"]


def test_overlap(cli, tmp_path, shop_file):
    result = cli(
        "train", shop_file, "-o", tmp_path / "m", "--overlap", 2, "--set", "max_leaf_size=20"
    )
    assert result.code == 0
    assert "xr-linear, because labels can share leaves only in a tree" in result.err
    assert Tagger.load(tmp_path / "m").model_.overlap == 2
    result = cli("train", shop_file, "-o", tmp_path / "n", "--overlap", 2, "-m", "one-vs-all")
    assert result.code == 2
    assert "has no leaves that labels could share" in result.err


def test_every_setting_of_every_preset_has_a_sentence(cli):
    for preset in ("xr-linear", "parabel", "one-vs-all"):
        rows = cli("train", "--list-settings", "--json", "-m", preset).json
        assert [row["name"] for row in rows if not row["help"]] == []


def test_a_folder_that_is_not_a_model_is_refused_before_the_work(cli, train_file, tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    result = cli("train", "nowhere.jsonl", "-o", tmp_path)
    assert result.code == 4
    assert "not a model" in result.err


def test_bad_lines_stop_or_are_counted(cli, train_file, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text(train_file.read_text() + "{broken\n")
    result = cli("train", bad, "-o", tmp_path / "m")
    assert result.code == 3
    assert "bad.jsonl:121" in result.err
    assert not (tmp_path / "m").exists()
    result = cli("train", bad, "-o", tmp_path / "m", "--on-error", "skip")
    assert result.code == 0
    assert "skipped 1 bad lines" in result.err


def test_validation_must_be_a_share(cli, train_file, tmp_path):
    result = cli("train", train_file, "-o", tmp_path / "m", "--validation", 3)
    assert result.code == 2
    assert "between 0 and 1" in result.err


def test_reads_stdin(cli, train_file, tmp_path, monkeypatch):
    with train_file.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert cli("train", "-", "-o", tmp_path / "m", "-q").code == 0
    assert len(Tagger.load(tmp_path / "m").classes_) == 5


def test_same_seed_same_model(cli, train_file, tmp_path):
    for name in "ab":
        assert cli("train", train_file, "-o", tmp_path / name, "-q", "--seed", 2).code == 0
    files = []
    for name in "ab":
        manifest = json.loads((tmp_path / name / "manifest.json").read_text())
        files.append(manifest["files"])
    assert files[0] == files[1]


@pytest.fixture(scope="module")
def grouped(tmp_path_factory, train_file):
    folder = tmp_path_factory.mktemp("grouped")
    with pytest.raises(SystemExit):
        main(["group", str(train_file), "--random", "3", "-o", str(folder), "--keep-labels", "-q"])
    return folder


def test_groups_teach_a_model(cli, grouped, test_file, tmp_path):
    result = cli(
        "train", grouped / "instances.jsonl", "--groups", grouped / "groups.jsonl",
        "-o", tmp_path / "m", "-m", "xr-linear", "--test", test_file,
    )  # fmt: skip
    assert result.code == 0
    assert "xr-linear, as asked for; learned from groups" in result.err
    assert "40 groups of 3.0 instances" in result.err
    assert "labels assigned to instances: " in result.err
    assert "by chance" not in result.err
    tagger = Tagger.load(tmp_path / "m", verify=True)
    assert tagger.predict(["juicy apple orchard"], top_k=1)[0][0].label == "fruit"


def test_known_labels_are_compared_with_the_assigned_ones(cli, grouped, tmp_path):
    arguments = (
        "train", grouped / "known.jsonl", "--groups", grouped / "groups.jsonl",
        "-o", tmp_path / "m", "-m", "xr-linear", "--force",
    )  # fmt: skip
    assert "instances whose own are known: " in cli(*arguments).err
    report = cli(*arguments, "--json", "--validation", 0.25, "--force").json
    assert report["groups"]["accuracy"] > report["groups"]["chance"]
    assert report["groups"]["empty"] == 0
    assert report["groups"]["memberships"] == report["n_instances"] == 90
    assert report["validation"]["n_instances"] == 30


@pytest.mark.parametrize(
    ("instances", "groups", "message"),
    [
        ('{"text": "a", "group": "x"}', '{"group": "g", "labels": ["l"]}', "data.jsonl:1: .*'x'"),
        ('{"text": "a"}', '{"group": "g", "labels": ["l"]}', "no instance names a group"),
        ('{"text": "a", "group": "g"}', '{"group": "g", "labels": []}', "lists a label"),
        ('{"text": "a", "group": "g"}', '{"group": "g", "labels": {"l": -1}}', "is not a list"),
        ('{"text": "a", "group": "g"}', '{"group": "g", "labels": [NaN]}', "groups.jsonl:1: "),
        ('{"text": "a", "group": "g"}', "", "is empty"),
    ],
)
def test_groups_that_cannot_be_learned_from(cli, tmp_path, instances, groups, message):
    (tmp_path / "data.jsonl").write_text(instances + "\n")
    (tmp_path / "groups.jsonl").write_text(groups)
    result = cli(
        "train", tmp_path / "data.jsonl", "--groups", tmp_path / "groups.jsonl",
        "-o", tmp_path / "m",
    )  # fmt: skip
    assert result.code == 3
    assert re.search(message, result.err)
    assert not (tmp_path / "m").exists()


def test_validation_needs_labels_of_instances(cli, grouped, tmp_path):
    result = cli(
        "train", grouped / "instances.jsonl", "--groups", grouped / "groups.jsonl",
        "-o", tmp_path / "m", "--validation", 0.2,
    )  # fmt: skip
    assert result.code == 2
    assert "--validation needs instances whose own labels are known" in result.err


def test_a_place_that_cannot_be_written_is_refused_before_the_work(cli, tmp_path):
    (tmp_path / "file").write_text("x")
    for place in (tmp_path / "file" / "m", "/proc/nothing/m"):
        result = cli("train", "nowhere.jsonl", "-o", place)
        assert result.code == 4
        assert f"cannot save to {place}: " in result.err
    result = cli("train", "nowhere.jsonl", "-o", tmp_path / "m", "--checkpoint", tmp_path / "file")
    assert result.code == 4
    assert f"{tmp_path / 'file'} is a file" in result.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_a_seed_of_training_is_the_seed(cli, tmp_path):
    result = cli("train", "nowhere.jsonl", "-o", tmp_path, "--set", "solver.random_state=3")
    assert result.code == 2
    assert "it is one for all parts of a model, given by --seed" in result.err
