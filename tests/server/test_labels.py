"""Labels found by prefix, and what is told about each of them."""

from __future__ import annotations

import random
import string
import time

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from multitudes import Dataset, Tagger
from multitudes.server import Models, Served, make_app
from multitudes.server.labels import LabelIndex, folded


def found(index, prefix, limit=100):
    return [index.names[label] for label in index.starting_with(prefix, limit)]


def test_names_and_titles_whatever_their_case():
    names = ["uri:1", "uri:2", "Zebra", "apple", "Äpfel", "applesauce", "STRASSE"]
    index = LabelIndex(names, {"uri:1": "Apples and pears", "uri:2": "zoo"})
    assert found(index, "APP") == ["apple", "uri:1", "applesauce"]
    assert found(index, "Z") == ["Zebra", "uri:2"]
    assert found(index, "uri") == ["uri:1", "uri:2"]
    assert found(index, "A\u0308P") == ["Äpfel"]  # composed or not
    assert found(index, "straße") == ["STRASSE"]
    assert found(index, "x") == []
    assert len(found(index, "")) == len(names)
    assert len(found(index, "", limit=3)) == 3


def test_names_that_differ_in_case_alone_are_told_apart():
    index = LabelIndex(["Belt", "belt", "BELT", "belts", "bel\0t", ""], {})
    assert [index.id_of(name) for name in index.names] == list(range(6))
    assert index.id_of("bELT") is None
    assert index.id_of("bel") is None
    assert len(found(index, "belt")) == 4


def test_against_a_search_through_all():
    rng = random.Random(5)
    letters = "aAbBäÄß Éé\x01\U0001f980"
    names = list({"".join(rng.choices(letters, k=rng.randint(0, 5))) for _ in range(400)})
    titles = {name: "".join(rng.choices(letters, k=3)) for name in names[::3]}
    index = LabelIndex(names, titles)
    for prefix in ["", "a", "Ä", "ab", "ß", "é", "\U0001f980", "s", "bb"]:
        begins = [
            name for name in names
            if folded(name).startswith(folded(prefix))
            or folded(titles.get(name, name)).startswith(folded(prefix))
        ]  # fmt: skip
        assert sorted(found(index, prefix, 10_000)) == sorted(begins)


def test_many_labels_are_searched_quickly():
    rng = random.Random(1)
    names = ["".join(rng.choices(string.ascii_letters, k=12)) for _ in range(50_000)]
    index = LabelIndex(names, {})
    begun = time.perf_counter()
    for _ in range(200):
        index.starting_with("ab", 20)
    assert (time.perf_counter() - begun) / 200 < 0.005  # 30 microseconds on a machine of its own


@pytest.fixture(scope="module")
def titled():
    texts = ["leather belt", "silk tie", "oak table", "pine chair"] * 8
    labels = [["u:belt", "u:leather"], ["u:tie"], ["u:table", "u:oak"], ["u:chair"]] * 8
    dataset = Dataset.from_lists(texts, labels)
    tagger = Tagger("xr-linear", settings={"max_leaf_size": 2, "branching": 2}, n_jobs=1)
    tagger.fit(dataset)
    tagger.titles_ = {"u:belt": "Belts", "u:tie": "Ties"}
    return tagger


def test_titles_are_told(titled):
    client = TestClient(make_app(titled))
    labels = client.get("/v1/labels", params={"prefix": "be"}).json()["labels"]
    assert labels == [{"label": "u:belt", "title": "Belts"}]
    about = client.get("/v1/labels/details", params={"label": "u:belt"}).json()
    assert about["title"] == "Belts"
    assert about["senses"] == about["examples"] == about["alternatives"] == []
    assert len(about["path"]) == len(titled.model_.tree_.offsets)
    around = {one["label"] for level in about["path"] for one in level}
    assert around == set(titled.classes_) - {"u:belt"}
    assert {one["label"] for one in about["nearest"]} <= around


def test_a_new_version_is_taken_up_while_the_old_one_is_asked(titled, tmp_path):
    titled.save(tmp_path / "tags")
    models = Models.read({"tags": tmp_path / "tags"})
    client = TestClient(make_app(models))
    before = client.get("/v1/models/tags").json()
    assert client.post("/v1/models/tags/reload").json()["version"] == before["version"]
    held = models.get("tags")
    Tagger("xr-linear", n_jobs=1).fit(
        ["a silver spoon", "an oak door"], [["spoon"], ["door"]]
    ).save(tmp_path / "tags")
    after = client.post("/v1/models/tags/reload").json()
    assert after["version"] != before["version"]
    assert after["n_labels"] == 2
    assert held.tagger.predict(["leather belt"], top_k=1)[0][0].label.startswith("u:")
    answer = client.post("/v1/predict", json={"texts": ["a spoon"], "top_k": 1}).json()
    assert answer["predictions"][0]["labels"][0]["label"] == "spoon"


def test_a_folder_that_is_damaged_leaves_the_old_version(titled, tmp_path):
    titled.save(tmp_path / "tags")
    client = TestClient(make_app(Models.read({"tags": tmp_path / "tags"})))
    (tmp_path / "tags" / "manifest.json").write_text("{}")
    answer = client.post("/v1/models/tags/reload")
    assert answer.status_code == 400
    assert "manifest" in answer.json()["error"]
    assert client.post("/v1/predict", json={"texts": ["leather belt"]}).status_code == 200


def test_versions_are_those_of_the_content(titled, tmp_path):
    titled.save(tmp_path / "one")
    titled.save(tmp_path / "two")
    one, two = (Served.read(name, tmp_path / name) for name in ("one", "two"))
    assert one.version == two.version
    assert len(one.version) == 12
