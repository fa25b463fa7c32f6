"""Annif's own client, from PyPI, against a running server: all its methods."""

from __future__ import annotations

import io
import json

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("rdflib")
pytest.importorskip("annif_client")

import requests
from annif_client import AnnifClient

from multitudes.data.vocabularies.subjects import Vocabularies
from multitudes.server import Limits
from tests.server.crafts import BELTS, SPOONS, TEXTS, crafts_tagger, crafts_vocabulary
from tests.server.serving import serving

TEXT = "medieval leather belts"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("crafts")


@pytest.fixture(scope="module")
def client(folder):
    vocabularies = Vocabularies.read([str(crafts_vocabulary(folder))], [], "en")
    with serving(
        {"crafts": crafts_tagger()},
        Limits(grace_seconds=1),
        vocabularies=vocabularies,
        corrections=folder / "corrections.jsonl",
    ) as served:
        yield AnnifClient(api_base=served.url + "/v1/")


def test_who_answers_and_what(client):
    assert client.api_info["title"] == "Annif REST API, by multitudes"
    (project,) = client.projects
    assert project["project_id"] == "crafts"
    assert client.get_project("crafts") == project
    assert (project["language"], project["vocab"]["size"]) == ("en", 4)
    with pytest.raises(ValueError, match="there is no project 'nope'"):
        client.get_project("nope")


def test_suggest(client):
    found = client.suggest("crafts", TEXT, limit=2, threshold=0.01)
    assert found[0]["uri"] == BELTS
    assert client.suggest("crafts", io.StringIO(TEXT), limit=2, threshold=0.01) == found
    assert client.analyze("crafts", TEXT, limit=1) == found[:1]
    assert len(client.suggest("crafts", TEXT)) == 4
    with pytest.raises(ValueError, match="there is no project 'nope'"):
        client.suggest("nope", TEXT)
    with pytest.raises(requests.HTTPError, match="400"):
        client.suggest("crafts", TEXT, limit=-1)


def test_suggest_batch(client):
    documents = [{"document_id": f"doc-{n}", "text": text} for n, text in enumerate(TEXTS)]
    found = client.suggest_batch("crafts", documents, limit=1, threshold=0.0)
    assert [one["document_id"] for one in found] == [one["document_id"] for one in documents]
    assert found[3]["results"][0]["label"] == "spoons"
    with pytest.raises(ValueError, match="there is no project 'nope'"):
        client.suggest_batch("nope", documents)


def test_learn(client, folder):
    documents = [{"text": "Old spoons", "subjects": [{"uri": SPOONS, "label": "spoons"}]}]
    assert client.learn("crafts", documents).status_code == 204
    last = (folder / "corrections.jsonl").read_text().splitlines()[-1]
    assert (json.loads(last)["text"], json.loads(last)["labels"]) == ("Old spoons", [SPOONS])
    with pytest.raises(ValueError, match="there is no project 'nope'"):
        client.learn("nope", documents)


def test_detect_language(client):
    found = client.detect_language("The history of leather in the north", ["en", "fi"])["results"]
    assert found[0]["language"] == "en"
    assert {one["language"] for one in found} == {"en", "fi", None}
