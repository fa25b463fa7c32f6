"""Annif's API: subjects, languages, learning, and what is refused."""

from __future__ import annotations

import json
import urllib.parse

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("rdflib")

from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.responses import PlainTextResponse

from multitudes import Tagger
from multitudes.data.vocabularies.subjects import Vocabularies
from multitudes.errors import ConfigError
from multitudes.features.languages import DETECTED
from multitudes.server import Limits, make_app
from multitudes.server.access import Access, Keys
from multitudes.server.annif.forms import parsed_form, unquoted
from multitudes.server.annif.languages import CODES, detected
from multitudes.server.annif.problems import Problems
from multitudes.server.annif.suggesting import Suggesting
from tests.server.crafts import (
    BELTS,
    DRESS,
    LEATHER,
    SPOONS,
    TEXTS,
    crafts_tagger,
    crafts_vocabulary,
)

FORM = {"content-type": "application/x-www-form-urlencoded"}
TEXT = "medieval leather belts"


@pytest.fixture(scope="module")
def tagger():
    return crafts_tagger()


@pytest.fixture(scope="module")
def vocabularies(tmp_path_factory):
    path = crafts_vocabulary(tmp_path_factory.mktemp("vocabulary"))
    return Vocabularies.read([str(path)], ["crafts"])


@pytest.fixture
def client(tagger, vocabularies, tmp_path):
    app = make_app(
        {"crafts": tagger}, vocabularies=vocabularies, corrections=tmp_path / "corrections.jsonl"
    )
    return TestClient(app, raise_server_exceptions=False)


def suggested(client, project="crafts", **fields):
    answer = client.post(f"/v1/projects/{project}/suggest", data={"text": TEXT, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()["results"]


def test_suggestions_are_the_taggers_with_names_and_notations(client, tagger):
    found = suggested(client)
    expected = tagger.predict([TEXT], top_k=10)[0]
    assert [one["uri"] for one in found] == [tag.label for tag in expected]
    assert [one["score"] for one in found] == pytest.approx([tag.score for tag in expected])
    about = {one["uri"]: (one["label"], one["notation"]) for one in found}
    assert about == {
        BELTS: ("belts", "42.1"),
        LEATHER: ("leather", "42"),
        DRESS: ("dress", None),
        SPOONS: ("spoons", "7"),
    }


def test_limit_threshold_and_language(client):
    scores = [one["score"] for one in suggested(client)]
    assert [one["score"] for one in suggested(client, limit=2)] == scores[:2]
    assert [one["score"] for one in suggested(client, threshold=scores[1])] == scores[:2]
    assert {one["label"] for one in suggested(client, language="fi")} == {
        "vyöt", "nahka", "puku", "lusikat"
    }  # fmt: skip


def test_limit_is_ten_by_default_and_at_most_what_the_server_allows(shop_tagger):
    client = TestClient(make_app({"shop": shop_tagger}, limits=Limits(max_top_k=20)))
    assert len(suggested(client, "shop")) == 10
    assert len(suggested(client, "shop", limit=100_000)) == 20


def test_scores_are_probabilities_if_the_model_has_them(shop_tagger):
    client = TestClient(make_app({"shop": shop_tagger}))
    found = suggested(client, "shop", limit=3)
    expected = shop_tagger.predict_proba([TEXT], top_k=3)[0]
    assert [one["score"] for one in found] == pytest.approx([tag.score for tag in expected])
    assert [one["label"] for one in found] == [tag.label for tag in expected]


@pytest.mark.parametrize(("score", "given"), [(-0.5, None), (0.0, None), (0.25, 0.25), (7.0, 1.0)])
def test_scores_lie_between_0_and_1(tagger, monkeypatch, score, given):
    from multitudes.server.annif.messages import Options
    from multitudes.server.annif.suggestions import Suggester
    from multitudes.tagger.tags import Tag

    suggester = Suggester(tagger, Vocabularies().of("crafts"), Options())
    found = suggester.results([Tag("a", score)])
    assert [one["score"] for one in found] == ([] if given is None else [given])


def test_batch_keeps_order_and_ids(client):
    documents = [{"text": text, "document_id": str(n)} for n, text in enumerate(TEXTS)]
    documents.insert(1, {"text": "  "})
    answer = client.post("/v1/projects/crafts/suggest-batch?limit=1", json={"documents": documents})
    found = answer.json()
    assert [one["document_id"] for one in found] == ["0", None, "1", "2", "3", "4", "5"]
    assert found[1]["results"] == []
    right = list(TEXTS.values())
    best = [one["results"][0]["uri"] for one in found if one["results"]]
    assert all(uri in uris for uri, uris in zip(best, right, strict=True))


def test_models_without_a_vocabulary_answer_with_their_own_titles(tmp_path):
    tagger = Tagger("one-vs-all").fit(list(TEXTS), list(TEXTS.values()))
    tagger.titles_ = {BELTS: "girdles"}
    client = TestClient(make_app(tagger, vocabularies=Vocabularies(language="en")))
    labels = {one["uri"]: one["label"] for one in suggested(client, "model")}
    assert labels[BELTS] == "girdles"
    assert labels[LEATHER] == LEATHER
    assert client.get("/v1/projects/model").json()["language"] == "en"
    assert client.get("/v1/vocabs").json()["vocabs"] == [
        {"vocab_id": "model", "languages": ["en"], "size": 4, "loaded": True}
    ]


def test_labels_that_are_names_become_uris(vocabularies):
    names = [[uri.rpartition("/")[2] for uri in uris] for uris in TEXTS.values()]
    client = TestClient(
        make_app({"names": Tagger("one-vs-all").fit(list(TEXTS), names)}, vocabularies=vocabularies)
    )
    best = suggested(client, "names", text="wooden spoons", language="fi", limit=1)[0]
    assert (best["uri"], best["label"], best["notation"]) == (SPOONS, "lusikat", "7")


def test_learning_is_off_without_a_file(tagger):
    client = TestClient(make_app({"crafts": tagger}))
    answer = client.post("/v1/projects/crafts/learn", json=[{"text": "a", "subjects": []}])
    assert answer.status_code == 403
    assert "--corrections FILE" in answer.json()["detail"]


def test_learned_documents_become_corrections(client, tmp_path):
    documents = [
        {"text": "Leather spoons", "subjects": [{"uri": SPOONS, "label": "spoons"}]},
        {"text": "no subjects"},
        {"text": "Flint", "subjects": [{"uri": "http://example.org/flint"}, {"uri": SPOONS}]},
    ]
    assert client.post("/v1/projects/crafts/learn", json=documents).status_code == 204
    lines = (tmp_path / "corrections.jsonl").read_text().splitlines()
    kept = [(one["text"], one["labels"], one["model"]) for one in map(json.loads, lines)]
    assert kept == [
        ("Leather spoons", [SPOONS], "crafts"),
        ("Flint", ["http://example.org/flint", SPOONS], "crafts"),
    ]


def test_learned_subjects_get_the_names_that_the_model_has(vocabularies, tmp_path):
    tagger = Tagger("one-vs-all").fit(["a spoon", "a belt"], [["lusikat"], ["42.1"]])
    path = tmp_path / "corrections.jsonl"
    app = make_app({"names": tagger}, vocabularies=vocabularies, corrections=path)
    document = {"text": "x", "subjects": [{"uri": SPOONS}, {"uri": BELTS}, {"uri": LEATHER}]}
    assert TestClient(app).post("/v1/projects/names/learn", json=[document]).status_code == 204
    assert json.loads(path.read_text())["labels"] == ["lusikat", "42.1", LEATHER]


@pytest.mark.parametrize(
    ("path", "body", "headers", "code", "error"),
    [
        ("suggest", b"limit=1", FORM, 400, "text: Field required"),
        ("suggest", b"text=%ff", FORM, 400, "not UTF-8"),
        ("suggest", b"text=a&threshold=nan", FORM, 400, "threshold: Input should be"),
        ("suggest", b"&" * 200, FORM, 413, "more than 100 fields"),
        ("suggest", b"text=" + b"%41" * 2000, FORM, 413, "characters of text"),
        ("suggest", b"text=a", {"content-type": "text/plain"}, 415, "not a form"),
        ("suggest-batch", b'{"documents": [{"text": "a"}], ', {}, 400, "not JSON"),
        ("suggest-batch", b'{"documents": [1]}', {}, 400, "documents.0"),
        ("suggest-batch", b"[" * 500, {}, 400, "nest too deeply"),
        ("learn", b'[{"text": 1}]', {}, 400, "0.text"),
    ],
)
def test_refusals_have_both_forms(tagger, path, body, headers, code, error):
    app = make_app({"crafts": tagger}, limits=Limits(max_characters=1000, max_texts=50))
    client = TestClient(app, raise_server_exceptions=False)
    headers = {"content-type": "application/json", **headers}
    answer = client.post(f"/v1/projects/crafts/{path}", content=body, headers=headers)
    found = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, found["status"]) == (code, code)
    assert found["detail"] == found["error"]
    assert error in found["error"]


def test_what_is_refused_before_it_is_read_has_both_forms_too(tagger):
    client = TestClient(make_app({"crafts": tagger}, limits=Limits(max_body=100)))
    answer = client.post("/v1/projects/crafts/suggest", data={"text": "a" * 200})
    assert answer.status_code == answer.json()["status"] == 413
    assert "at most 100 are taken" in answer.json()["detail"]
    other = client.post("/v1/predict", json={"texts": ["a" * 200]})
    assert other.json().keys() == {"error"}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The history of leather and of the people who made belts from it", "en"),
        ("Die Geschichte des Leders und der Menschen, die es zu Gürteln machten", "de"),
        ("Nahan historia ja ihmiset, jotka tekivät siitä vöitä", "fi"),
        ("Lädrets historia och människorna som gjorde bälten av det", "sv"),
        ("L'histoire du cuir et des gens qui en ont fait des ceintures", "fr"),
    ],
)
def test_languages(text, language):
    found = detected(text, ["en", "de", "fi", "sv", "fr"])
    assert found[0][0] == language
    assert found[0][1] > 0.5
    assert sum(score for _, score in found) == pytest.approx(1)
    others = [code for code in ("en", "de", "fi", "sv", "fr") if code != language]
    assert detected(text, others)[0][0] is None


def test_every_language_has_a_code():
    assert set(CODES.values()) == set(DETECTED)


def test_no_language_without_function_words():
    assert detected("xyzzy 42", ["en", "fi"]) == [(None, 1.0), ("en", 0.0), ("fi", 0.0)]
    assert detected("", ["EN"]) == [(None, 1.0), ("en", 0.0)]
    with pytest.raises(ConfigError, match="'xx' cannot be detected"):
        detected("a", ["xx"])
    assert len(detected("the", list(CODES))) == len(CODES) + 1


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60) | st.text("%4a+&=é").map(str.encode))
def test_unquoting_is_urllibs(data):
    assert unquoted(data) == urllib.parse.unquote_to_bytes(data)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text(), st.text(), max_size=5))
def test_forms_come_back_as_they_were(fields):
    sent = urllib.parse.urlencode(fields).encode()
    assert parsed_form(sent, Limits()) == fields


def test_a_missing_key_is_a_problem_too(tagger):
    access = Access(Keys.of(["a-long-and-random-key"]))
    client = TestClient(make_app({"crafts": tagger}, access=access))
    answer = client.get("/v1/projects")
    assert answer.status_code == answer.json()["status"] == 401
    assert "a key is needed" in answer.json()["detail"]
    headers = {"authorization": "Bearer a-long-and-random-key"}
    assert client.get("/v1/projects", headers=headers).status_code == 200


@pytest.mark.parametrize("path", ["/v1/projects/a/b/suggest", "/v1/projects/suggest"])
def test_addresses_that_are_almost_those_of_suggestions(client, path):
    answer = client.post(path, data={"text": TEXT})
    assert answer.status_code in (404, 405)
    assert answer.json()["status"] == answer.status_code


def test_the_long_way_gives_the_same_answers(client, monkeypatch):
    short = suggested(client, limit=3)
    monkeypatch.setattr(Suggesting, "takes", lambda self, path: False)
    assert suggested(client, limit=3) == short
    refused = client.post("/v1/projects/crafts/suggest", json={"text": TEXT})
    assert refused.status_code == 415


@pytest.mark.parametrize("body", [b"", b"plain text", b"[]", b'{"error": 1}'])
def test_refusals_in_another_form_stay_as_they_are(body):
    async def refusing(scope, receive, send):
        await PlainTextResponse(body, 500)(scope, receive, send)

    answer = TestClient(Problems(refusing)).get("/v1/projects")
    assert (answer.status_code, answer.content) == (500, body)


@pytest.mark.parametrize("path", ["/v1/", "/v1/projects", "/v1/projects/crafts", "/v1/vocabs"])
def test_heads_are_answered(client, path):
    answer = client.head(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
