"""The client against a real server, and against servers that are busy, broken or not there."""

from __future__ import annotations

import subprocess
import sys
import time

import httpx
import pytest

pytest.importorskip("fastapi")

from multitudes import Tagger
from multitudes.client import AnswerError, Client, Scored, UnreachableError
from multitudes.client import client as module
from multitudes.data import make_catalogue
from multitudes.errors import ConfigError
from multitudes.server.access import Access, Keys
from tests.server.serving import serving

TEXTS = ["a leather belt", "a silver spoon", ""]
KEY = "correct-horse-battery-staple"


@pytest.fixture(scope="module")
def taggers():
    shop = make_catalogue(600, n_labels=30, random_state=1).dataset
    overlapping = Tagger("xr-linear", settings={"overlap": 2, "max_leaf_size": 8}, n_jobs=1)
    return {
        "plain": Tagger("xr-linear", n_jobs=1).fit(shop[:400]).calibrate(shop[400:]),
        "folded": overlapping.fit(shop[:400]),
    }


@pytest.fixture(scope="module")
def client(taggers, tmp_path_factory):
    path = tmp_path_factory.mktemp("kept") / "corrections.jsonl"
    with (
        serving(taggers, corrections=path, access=Access(Keys.of([KEY]))) as served,
        Client(served.url, key=KEY) as asking,
    ):
        yield asking


@pytest.mark.parametrize("kind", ["scores", "probabilities", "sets"])
def test_predictions_are_those_of_the_tagger(client, taggers, kind):
    tagger = taggers["plain"]
    by_kind = {"scores": tagger.predict, "probabilities": tagger.predict_proba}
    expected = by_kind.get(kind, tagger.predict_sets)(TEXTS)
    found = client.predict(TEXTS, kind=kind)
    assert [[one.label for one in text] for text in found] == [
        [tag.label for tag in tags] for tags in expected
    ]
    assert found[0][0] == Scored(expected[0][0].label, pytest.approx(expected[0][0].score))


def test_many_texts_are_sent_in_parts(client, monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", 2)
    texts = [*TEXTS, "an oak table", "a silk tie"]
    assert client.predict(iter(texts), top_k=1) == client.predict(texts, top_k=1)
    assert [len(text) for text in client.predict(texts, top_k=2)] == [2] * 5
    assert client.predict([]) == []
    assert client.predict(texts, threshold=2.0) == [()] * 5


def test_a_lone_text_is_refused(client):
    with pytest.raises(ConfigError, match=r"write \[text\]"):
        client.predict("a belt")


def test_explanations_point_into_the_text(client):
    text = "A Leather BELT, with a belt buckle"
    found = client.explain(text, "belt")
    assert str(found).startswith("belt: score")
    (word,) = [word for word in found.words if word.word == "belt"]
    assert [text[start:end] for start, end in word.spans] == ["BELT", "belt"]
    assert word.weight > 0


def test_labels(client, taggers):
    names = [one.label for one in client.labels("b", limit=1000)]
    expected = [name for name in taggers["plain"].classes_ if name.lower().startswith("b")]
    assert names == sorted(expected, key=str.casefold)
    assert len(names) > 1
    assert len(client.labels(limit=7)) == 7


def test_what_is_known_about_a_label(client):
    label = client.labels(model="folded")[0].label
    found = client.label(label, model="folded")
    assert found.label == label
    assert found.senses == tuple(client.senses(label, model="folded"))
    assert found.senses[0].n_texts > 0
    assert found.path
    assert found.nearest
    assert found.examples


def test_models(client, taggers):
    plain, folded = client.models()
    assert (plain.name, plain.has_sets, plain.has_senses) == ("plain", True, False)
    assert (folded.name, folded.has_sets, folded.has_senses) == ("folded", False, True)
    assert client.model("folded").n_labels == len(taggers["folded"].classes_)
    assert client.is_ready()


def test_corrections(client):
    before = client.corrections().total
    kept = [
        client.correct(f"text {n}", accepted=["belt"], rejected=["tie"], added=["braces"])
        for n in range(3)
    ]
    page = client.corrections(limit=2, newest=True)
    assert [one.id for one in page.corrections] == [kept[1].id, kept[2].id]
    assert page.total == before + 3
    last = page.corrections[-1]
    assert (last.text, last.labels, last.rejected) == ("text 2", ("belt", "braces"), ("tie",))
    assert [one.id for one in client.all_corrections()][-3:] == [one.id for one in kept]
    assert client.export_corrections().count(b"\n") == before + 3


@pytest.mark.parametrize(
    ("ask", "code", "error"),
    [
        (lambda c: c.predict(["a"], model="none"), 404, "there is no model 'none': there are"),
        (lambda c: c.predict(["a"], top_k=0), 422, "top_k: Input should be greater than"),
        (lambda c: c.explain("a", "nothing"), 400, "there is no label 'nothing' among"),
        (lambda c: c.label("nothing"), 404, "the model 'plain' has no label 'nothing'"),
        (lambda c: c.senses("belt"), 400, "the model 'plain' has no senses"),
        (lambda c: c.model("a/b c"), 404, "there is no"),
        (lambda c: c.reload("plain"), 400, "the model 'plain' was not read from a folder"),
    ],
)
def test_refusals_are_errors_with_the_servers_sentence(client, ask, code, error):
    with pytest.raises(AnswerError) as raised:
        ask(client)
    assert raised.value.code == code
    assert str(raised.value).startswith(error)


def test_without_a_key(taggers):
    with serving(taggers["plain"], access=Access(Keys.of([KEY]))) as served:
        for key in (None, "another-key-that-is-long"):
            with (
                Client(served.url, key=key) as client,
                pytest.raises(AnswerError, match="key") as e,
            ):
                client.models()
            assert e.value.code == 401


class Busy:
    """A server that is busy for some requests."""

    def __init__(self, *codes, headers=None):
        self.codes, self.headers, self.asked = list(codes), headers, 0

    def __call__(self, request):
        self.asked += 1
        if self.codes:
            return httpx.Response(
                self.codes.pop(0), json={"error": "come again"}, headers=self.headers
            )
        return httpx.Response(200, json={"models": []})

    def client(self, **options):
        return Client("http://tags.example", transport=httpx.MockTransport(self), **options)


def test_a_busy_server_is_asked_again():
    busy = Busy(429, 503, headers={"retry-after": "0"})
    assert busy.client().models() == []
    assert busy.asked == 3


def test_as_late_as_it_says():
    busy = Busy(429, headers={"retry-after": "0.3"})
    begun = time.monotonic()
    busy.client().models()
    assert 0.3 <= time.monotonic() - begun < 3


@pytest.mark.parametrize("said", ["Wed, 21 Oct 2026 07:28:00 GMT", "-3", "nan", "soon"])
def test_what_it_says_may_not_be_a_number(said):
    busy = Busy(503, headers={"retry-after": said})
    assert busy.client().models() == []


@pytest.mark.parametrize(
    ("options", "headers", "asked"),
    [
        ({"retries": 2}, {"retry-after": "0"}, 3),
        ({"retries": 0}, None, 1),
        ({"patience": 0.5}, {"retry-after": "3600"}, 1),
    ],
)
def test_but_not_for_ever(options, headers, asked):
    busy = Busy(*[503] * 50, headers=headers)
    with pytest.raises(AnswerError, match="come again") as raised:
        busy.client(**options).models()
    assert raised.value.code == 503
    assert busy.asked == asked


def test_what_stands_between_may_answer_anything():
    def proxy(_):
        return httpx.Response(502, text="<html>bad gateway")

    client = Client("http://tags.example", transport=httpx.MockTransport(proxy))
    with pytest.raises(AnswerError, match="the answer is 502 Bad Gateway: <html>bad gateway"):
        client.models()


def test_no_server_at_all():
    with Client("http://127.0.0.1:9") as client, pytest.raises(UnreachableError, match="no answer"):
        client.models()
    with pytest.raises((ConfigError, UnreachableError)):
        Client("tags.example").models()


def test_neither_the_library_nor_its_types_need_httpx():
    code = "import multitudes, multitudes.client, sys; sys.exit('httpx' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
