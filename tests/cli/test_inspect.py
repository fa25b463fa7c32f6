from __future__ import annotations

import json

import pytest

from multitudes.features import TfidfFeatures
from multitudes.store import read_manifest, save
from multitudes.tagger import Tagger


def test_summary(cli, model):
    result = cli("inspect", model)
    for words in ("tagger", "xr-linear", "tfidf", "5 labels, ", "solver.cost", "float32", "MB in"):
        assert words in result.out


def test_json(cli, model):
    summary = cli("inspect", model, "--json").json
    assert summary["kind"] == "tagger"
    assert summary["n_labels"] == 5
    assert summary["vocabulary"] == Tagger.load(model).features_.n_features_
    kinds = {entry["part"]: entry["kind"] for entry in summary["objects"]}
    assert kinds["model"] == "xr-linear"
    assert kinds["features"] == "tfidf"


def test_labels_and_vocabulary(cli, model):
    assert tuple(cli("inspect", model, "--labels").out.split()) == Tagger.load(model).classes_
    words = cli("inspect", model, "--vocabulary").out.split()
    assert words == list(Tagger.load(model).features_.feature_names)


def test_tree(cli, model):
    result = cli("inspect", model, "--tree")
    assert result.code == 0
    assert "planets" in result.out


def test_verify(cli, model, train_file, tmp_path):
    assert "SHA-256" in cli("inspect", model, "--verify").out
    assert cli("train", train_file, "-o", tmp_path / "m", "-q").code == 0
    data = tmp_path / "m" / read_manifest(tmp_path / "m").data_folder
    path = data / "labels.jsonl"
    path.write_bytes(path.read_bytes().replace(b"fruit", b"fruip"))
    assert cli("inspect", tmp_path / "m").code == 0
    result = cli("inspect", tmp_path / "m", "--verify")
    assert result.code == 4
    assert "labels.jsonl is damaged" in result.err


def test_a_model_without_a_tree(cli, tmp_path):
    save(TfidfFeatures().fit(["a few words"]), tmp_path / "m")
    result = cli("inspect", tmp_path / "m", "--tree")
    assert result.code == 4
    assert "label tree" in result.err


def test_a_model_without_words(cli, tmp_path):
    (tmp_path / "x.txt").write_text("0 0:1.0\n1 1:1.0\n")
    trained = cli(
        "train", tmp_path / "x.txt", "-o", tmp_path / "m", "-q", "--format", "sparse-text"
    )
    assert trained.code == 0
    result = cli("inspect", tmp_path / "m", "--vocabulary")
    assert result.code == 4
    assert "stores no vocabulary" in result.err


@pytest.fixture(scope="module")
def overlapping(shop_file, tmp_path_factory):
    """A model whose labels live in up to two leaves."""
    lines = [json.loads(line) for line in shop_file.read_text().splitlines()]
    tagger = Tagger("xr-linear", settings={"overlap": 2, "max_leaf_size": 20})
    tagger.fit([line["text"] for line in lines], [line["labels"] for line in lines])
    folder = tmp_path_factory.mktemp("models") / "overlapping"
    tagger.save(folder)
    return folder


def test_senses_of_a_label(cli, overlapping):
    result = cli("inspect", overlapping, "--label", "jaguar")
    assert result.code == 0
    assert "jaguar: 2 senses" in result.out
    senses = Tagger.load(overlapping).senses("jaguar")
    for sense in senses:
        assert str(sense.leaf) in result.out
        assert sense.nearest[0] in result.out
        assert sense.words[0][0] in result.out
        assert sense.texts[0].split()[0] in result.out
    document = cli("inspect", overlapping, "--label", "jaguar", "--json").json
    assert document["label"] == "jaguar"
    assert [sense["leaf"] for sense in document["senses"]] == [sense.leaf for sense in senses]
    assert document["senses"][0]["words"][0][0] == senses[0].words[0][0]


def test_ambiguous_labels(cli, overlapping):
    result = cli("inspect", overlapping, "--ambiguous", "--top", 5)
    expected = [row.label for row in Tagger.load(overlapping).ambiguous_labels(top_k=5)]
    assert all(label in result.out for label in expected)
    assert "cosine" in result.out
    rows = cli("inspect", overlapping, "--ambiguous", "--top", 5, "--json").json
    assert [row["label"] for row in rows] == expected


def test_senses_that_are_not_there(cli, overlapping, model):
    result = cli("inspect", overlapping, "--label", "jagaur")
    assert result.code == 3
    assert "did you mean 'jaguar'?" in result.err
    for arguments in (("--label", "fruit"), ("--ambiguous",)):
        result = cli("inspect", model, *arguments)
        assert result.code == 2
        assert "lives in one leaf" in result.err


def test_the_card_says_where_a_model_comes_from(cli, train_file, test_file, tmp_path):
    folder = tmp_path / "my model"
    trained = cli("train", train_file, "-o", folder, "-m", "xr-linear", "--test", test_file)
    assert trained.code == 0
    shown = cli("inspect", folder).out
    for words in ("trained 20", str(train_file), "120 instances", "as asked for", "test: P@1 "):
        assert words in shown
    assert f"$ multitudes train {train_file} -o '{folder}'" in shown
    (event,) = cli("inspect", folder, "--json").json["history"]
    assert event["metrics"]["test"]["P@1"] > 0.5
    card = cli("inspect", folder, "--card").out
    assert card.startswith("---\nlibrary_name: multitudes\n")
    for words in ("# my model\n", "with 5 labels", "| P |", "## History", "solver.cost"):
        assert words in card


def test_a_model_saved_from_python_has_a_card_without_history(cli, tmp_path):
    Tagger("xr-linear").fit(["red apple", "blue sky"], [["a"], ["b"]]).save(tmp_path / "m")
    assert "trained 20" not in cli("inspect", tmp_path / "m").out
    assert cli("inspect", tmp_path / "m", "--json").json["history"] is None
    assert "Not recorded" in cli("inspect", tmp_path / "m", "--card").out


def test_two_trainings_differ_in_their_cards_alone(cli, train_file, tmp_path):
    for name in ("a", "b"):
        assert cli("train", train_file, "-o", tmp_path / name, "-m", "xr-linear", "-q").code == 0
    hashes = [read_manifest(tmp_path / name).files for name in ("a", "b")]
    assert hashes[0] == hashes[1]
    cards = [(tmp_path / name / "card.json").read_bytes() for name in ("a", "b")]
    assert cards[0] != cards[1]


def test_clusters_are_named_by_their_words(cli, train_file, tmp_path):
    arguments = ("-m", "xr-linear", "-q", "--set", "max_leaf_size=1")
    assert cli("train", train_file, "-o", tmp_path / "m", *arguments).code == 0
    lines = cli("inspect", tmp_path / "m", "--tree").out.splitlines()
    (fruit,) = [line for line in lines if line.endswith(": fruit")]
    assert "apple" in fruit.partition("[")[2].partition("]")[0]


def test_clusters_of_a_model_over_features_have_no_words(cli, tmp_path):
    (tmp_path / "x.txt").write_text("0 0:1.0\n1 1:1.0\n2 2:1.0\n")
    arguments = ("--format", "sparse-text", "-m", "xr-linear", "--set", "max_leaf_size=1", "-q")
    assert cli("train", tmp_path / "x.txt", "-o", tmp_path / "m", *arguments).code == 0
    result = cli("inspect", tmp_path / "m", "--tree")
    assert result.code == 0
    assert "[" not in result.out
