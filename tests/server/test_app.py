"""The application, asked in-process."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi")

import numpy as np
import scipy.sparse as sp
from fastapi.testclient import TestClient

from multitudes import Dataset, Tagger
from multitudes.data import make_catalogue
from multitudes.errors import ConfigError
from multitudes.server import Limits, make_app
from multitudes.tagger import predict_tags

TEXTS = ["a leather belt", "a silver spoon"]


@pytest.fixture(scope="module")
def tagger():
    shop = make_catalogue(900, n_labels=30, random_state=1).dataset
    return Tagger("xr-linear").fit(shop[:600]).calibrate(shop[600:])


@pytest.fixture
def client(tagger):
    return TestClient(make_app(tagger), raise_server_exceptions=False)


def test_health_and_model(client, tagger):
    assert client.get("/health").json() == {"status": "ok"}
    (found,) = client.get("/v1/models").json()["models"]
    assert client.get("/v1/models/model").json() == {**found, "card": None, "n_bytes": None}
    assert found["model"] == "XRLinear"
    assert found["n_labels"] == len(tagger.classes_)
    assert found["has_probabilities"] is found["has_sets"] is True


@pytest.mark.parametrize("kind", ["scores", "probabilities", "sets"])
def test_answers_are_the_taggers(client, tagger, kind):
    answer = client.post("/v1/predict", json={"texts": TEXTS, "kind": kind})
    assert answer.status_code == 200
    expected = predict_tags(tagger, TEXTS, kind=kind)
    found = [
        [(one["label"], pytest.approx(one["score"])) for one in text["labels"]]
        for text in answer.json()["predictions"]
    ]
    assert found == [[(tag.label, tag.score) for tag in tags] for tags in expected]
    assert [len(tags) for tags in expected] != [0, 0]


def test_top_k_and_threshold(client):
    answer = client.post("/v1/predict", json={"texts": TEXTS, "top_k": 2}).json()
    assert [len(text["labels"]) for text in answer["predictions"]] == [2, 2]
    answer = client.post("/v1/predict", json={"texts": TEXTS, "threshold": 2.0}).json()
    assert answer["predictions"] == [{"labels": []}, {"labels": []}]


def test_no_text_at_all(client):
    assert client.post("/v1/predict", json={"texts": []}).json() == {"predictions": []}


def test_explain(client, tagger):
    label = tagger.predict(TEXTS[:1], top_k=1)[0][0].label
    answer = client.post("/v1/explain", json={"text": TEXTS[0], "label": label}).json()
    assert answer["explanation"]["label"] == label
    assert "belt" in answer["table"]


@pytest.mark.parametrize(
    ("request_", "code", "error"),
    [
        ({"texts": "a belt"}, 422, "texts: Input should be a valid list"),
        ({"texts": ["a", 3]}, 422, "texts.1: Input should be a valid string"),
        ({"texts": ["a"], "top_k": 0}, 422, "top_k: Input should be greater than or equal to 1"),
        ({"texts": ["a"], "top_k": True}, 422, "top_k: Input should be a valid integer"),
        ({"texts": ["a"], "top_k": "3"}, 422, "top_k: Input should be a valid integer"),
        ({"texts": ["a"], "threshold": "0"}, 422, "threshold: Input should be a valid number"),
        (["a"], 422, "the request: Input should be a valid dictionary"),
        ({"texts": ["a"], "topk": 3}, 422, "topk: Extra inputs are not permitted"),
        ({"texts": ["a"], "kind": "stars"}, 422, "kind: Input should be 'scores'"),
        ({}, 422, "texts: Field required"),
        ({"texts": ["a"] * 4}, 413, "the request has 4 texts, at most 3 are taken at once"),
        ({"texts": ["a" * 31]}, 413, "the request has 31 characters of text, at most 30"),
        ({"texts": ["a"], "top_k": 11}, 413, "top_k is at most 10, got 11"),
    ],
)
def test_bad_requests(tagger, request_, code, error):
    limits = Limits(max_texts=3, max_characters=30, max_top_k=10)
    client = TestClient(make_app(tagger, limits=limits), raise_server_exceptions=False)
    answer = client.post("/v1/predict", json=request_)
    assert answer.status_code == code
    assert answer.json()["error"].startswith(error)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'{"texts": ["a"', "the request is not JSON: unexpected end of data at character 14"),
        (b"[" * 100_000, "the request cannot be read: its lists nest too deeply"),
        (b"", "the request is not JSON: "),
        (b'{"texts": ["\xff"]}', "the request cannot be read: it is not UTF-8"),
    ],
)
def test_what_is_no_json(client, body, error):
    answer = client.post("/v1/predict", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["error"].startswith(error)


@pytest.mark.parametrize("headers", [{}, {"content-type": "text/plain"}])
def test_json_must_say_that_it_is(client, headers):
    answer = client.post("/v1/predict", content=b'{"texts": ["a"]}', headers=headers)
    assert answer.status_code == 422
    assert answer.json()["error"].endswith("add the header content-type: application/json")


def test_no_such_address_or_method(client):
    answer = client.get("/tags")
    assert answer.status_code == 404
    assert answer.json() == {"error": "there is nothing at /tags: /docs lists what there is"}
    answer = client.get("/v1/predict")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json() == {"error": "/v1/predict does not take GET: use POST"}


def test_an_unknown_label_is_named(client):
    answer = client.post("/v1/explain", json={"text": "a belt", "label": "no such thing"})
    assert answer.status_code == 400
    assert "no label 'no such thing'" in answer.json()["error"]


def test_probabilities_need_calibrating():
    shop = make_catalogue(200, n_labels=10, random_state=2).dataset
    client = TestClient(make_app(Tagger("xr-linear").fit(shop)))
    assert client.get("/v1/models/model").json()["has_sets"] is False
    for texts in (["x"], []):
        for kind in ("sets", "probabilities"):
            answer = client.post("/v1/predict", json={"texts": texts, "kind": kind})
            assert answer.status_code == 400
            assert "call calibrate" in answer.json()["error"]


def test_a_bug_is_an_answer_too(client, tagger, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("of our own making")

    monkeypatch.setattr(tagger, "_predict_kind", broken)
    answer = client.post("/v1/predict", json={"texts": ["x"]})
    assert answer.status_code == 500
    assert answer.json() == {"error": "unexpected error: ZeroDivisionError: of our own making"}


def test_several_models_by_name(tagger):
    shop = make_catalogue(200, n_labels=10, random_state=2).dataset
    other = Tagger("xr-linear").fit(shop)
    client = TestClient(make_app({"large": tagger, "small": other}))
    names = [one["name"] for one in client.get("/v1/models").json()["models"]]
    assert names == ["large", "small"]
    for name, asked in [("large", tagger), ("small", other), (None, tagger)]:
        answer = client.post("/v1/predict", json={"texts": TEXTS, "model": name}).json()
        found = [[one["label"] for one in text["labels"]] for text in answer["predictions"]]
        assert found == [[tag.label for tag in tags] for tags in asked.predict(TEXTS)]
    answer = client.post("/v1/predict", json={"texts": TEXTS, "model": "huge"})
    assert answer.status_code == 404
    assert answer.json() == {"error": "there is no model 'huge': there are 'large', 'small'"}


def test_features_are_no_texts():
    X = sp.eye_array(6, format="csr", dtype=np.float32)
    tagger = Tagger("one-vs-all").fit(Dataset(Y=X, X=X))
    with pytest.raises(ConfigError, match="fitted on features"):
        make_app(tagger)
