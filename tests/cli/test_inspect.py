from __future__ import annotations

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
    assert tuple(cli("inspect", model, "--labels").out.split()) == Tagger.load(model).labels_
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
