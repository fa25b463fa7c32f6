"""Labels whose names are URIs keep what people call them, from the data to every answer."""

from __future__ import annotations

import copy
import io
import json
from pathlib import Path

import pytest

from multitudes.data import Dataset, ReadOptions, read_dataset
from multitudes.tagger import Tagger, predict_to, update_tagger
from tests.cli.conftest import cli  # noqa: F401

BELT, HAT, SHOE = (f"http://x/{i}" for i in range(3))


@pytest.fixture
def titled(tmp_path: Path) -> Dataset:
    (tmp_path / "v.tsv").write_text(f"<{BELT}>\tGürtel\n<{HAT}>\tHüte\n")
    (tmp_path / "d.tsv").write_text(
        f"leather belt\t<{BELT}>\nstraw hat\t<{HAT}>\nbelt and hat\t<{HAT}> <{BELT}>\n"
        f"shoe\t<{SHOE}>\n"
    )
    options = ReadOptions(vocabulary=str(tmp_path / "v.tsv"))
    return read_dataset(tmp_path / "d.tsv", options=options)


def test_a_saved_tagger_knows_the_titles(titled: Dataset, tmp_path: Path) -> None:
    tagger = Tagger("one-vs-all").fit(titled)
    assert tagger.titles_ == {BELT: "Gürtel", HAT: "Hüte"}
    tagger.save(tmp_path / "model")
    assert Tagger.load(tmp_path / "model").titles_ == tagger.titles_
    plain = Tagger("one-vs-all").fit(["a", "b"], [["x"], ["y"]])
    plain.save(tmp_path / "plain")
    assert Tagger.load(tmp_path / "plain").titles_ == {}


@pytest.mark.parametrize(
    ("format", "start"),
    [
        ("jsonl", '{"row":0,"labels":[{"label":"http://x/0","title":"Gürtel","score":'),
        ("csv", "row,rank,label,title,score\n0,1,http://x/0,Gürtel,"),
    ],
)
def test_predictions_have_uri_and_title(titled: Dataset, format: str, start: str) -> None:
    out = io.BytesIO()
    predict_to(out, Tagger("one-vs-all").fit(titled), titled, format=format, top_k=1)
    assert out.getvalue().decode().startswith(start)


def test_new_labels_bring_their_titles(titled: Dataset, tmp_path: Path) -> None:
    tagger = Tagger("xr-linear").fit(titled)
    (tmp_path / "new.jsonl").write_text(
        '{"text": "red scarf", "labels": [{"uri": "http://x/9", "label": "scarves"}]}\n'
    )
    again = copy.deepcopy(tagger)
    tagger.add_labels(read_dataset(tmp_path / "new.jsonl"))
    assert tagger.titles_["http://x/9"] == "scarves"
    update_tagger(again, read_dataset(tmp_path / "new.jsonl"))
    assert again.titles_ == tagger.titles_


def test_the_command_line_shows_both(cli, titled: Dataset, tmp_path: Path) -> None:  # noqa: F811
    Tagger("one-vs-all").fit(titled).save(tmp_path / "model")
    shown = cli("predict", tmp_path / "model", "--text", "leather belt").out
    assert shown.splitlines()[2].split()[:2] == [BELT, "Gürtel"]
    found = cli("predict", tmp_path / "model", "--text", "leather belt", "--json").json
    assert found[0]["labels"][0]["title"] == "Gürtel"


def test_the_server_answers_with_both(titled: Dataset) -> None:
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    from multitudes.server import make_app

    for dataset, keys in ((titled, {"label", "score", "title"}), (_plain(), {"label", "score"})):
        client = TestClient(make_app(Tagger("one-vs-all").fit(dataset)))
        answer = client.post("/v1/predict", json={"texts": ["leather belt"], "top_k": 1})
        (label,) = json.loads(answer.content)["predictions"][0]["labels"]
        assert label.keys() == keys


def _plain() -> Dataset:
    return Dataset.from_lists(["leather belt", "straw hat"], [["belts"], ["hats"]])
