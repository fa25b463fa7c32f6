"""What a server tells those who run it: ids, lines, numbers."""

from __future__ import annotations

import io
import json
import logging
import re

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from multitudes.server import make_app
from multitudes.server.access import Access, Keys
from multitudes.server.watching import lines as module
from multitudes.server.watching.lines import Lines, take_over

TEXTS = {"texts": ["a leather belt", "a silver spoon"], "top_k": 1}
KEY = "correct-horse-battery-staple"


@pytest.fixture
def client(shop_tagger):
    with TestClient(make_app(shop_tagger), raise_server_exceptions=False) as client:
        yield client


def numbers(client):
    text = client.get("/metrics").text
    return {
        name: float(value) for name, value in re.findall(r"^(\w\S*(?:\{.*\})?) (\S+)$", text, re.M)
    }


def test_requests_have_ids(client):
    first, second = (client.get("/health").headers["x-request-id"] for _ in range(2))
    assert first != second
    given = client.post("/v1/predict", json=TEXTS, headers={"x-request-id": "abc-1"})
    assert given.headers["x-request-id"] == "abc-1"
    for strange in ("a b", "x" * 200, "<script>", "", "é".encode()):
        made = client.get("/health", headers={"x-request-id": strange}).headers["x-request-id"]
        assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]+", made)


def test_refusals_have_them_too(client, shop_tagger, monkeypatch):
    assert "x-request-id" in client.get("/nothing").headers
    monkeypatch.setattr(shop_tagger, "explain", lambda *_: 1 / 0)
    answer = client.post("/v1/explain", json={"text": "a", "label": "belt"})
    assert answer.status_code == 500
    assert "x-request-id" in answer.headers


def test_metrics(client):
    pytest.importorskip("prometheus_client")
    before = numbers(client)
    for _ in range(3):
        client.post("/v1/predict", json=TEXTS)
    client.post("/v1/predict", json={"texts": 3})
    client.get("/v1/labels?prefix=be")
    client.get("/no/such/place")
    client.get("/v1/models/model")
    after = numbers(client)

    def more(name):
        return after[name] - before.get(name, 0)

    seconds = 'multitudes_request_seconds_count{address="%s",status="%s"}'
    assert more(seconds % ("/v1/predict", 200)) == 3
    assert more(seconds % ("/v1/predict", 422)) == 1
    assert more(seconds % ("/v1/labels", 200)) == 1
    assert more(seconds % ("/v1/models/{name}", 200)) == 1
    assert more(seconds % ("other", 404)) == 1
    assert more('multitudes_texts_total{model="model"}') == 6
    assert more("multitudes_batch_texts_sum") == 6
    assert after["multitudes_queue_requests"] == 0
    assert after['multitudes_model_info{kind="XRLinear",model="model",version="unsaved"}'] == 1


def test_errors_are_counted(client, shop_tagger, monkeypatch):
    pytest.importorskip("prometheus_client")
    monkeypatch.setattr(shop_tagger, "explain", lambda *_: 1 / 0)
    client.post("/v1/explain", json={"text": "a", "label": "belt"})
    assert numbers(client)['multitudes_errors_total{address="/v1/explain"}'] == 1


def logged(shop_tagger, kind, capfdbinary, **options):
    capfdbinary.readouterr()
    with TestClient(make_app(shop_tagger, log=kind, **options)) as client:
        client.post("/v1/predict", json=TEXTS, headers={"x-request-id": "id-7", "x-api-key": KEY})
        client.get("/nothing?secret=1")
    return capfdbinary.readouterr().err.decode().splitlines()


def test_lines_of_json(shop_tagger, capfdbinary):
    first, second = map(json.loads, logged(shop_tagger, "json", capfdbinary))
    assert first.pop("seconds") > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first.pop("time"))
    assert first == {
        "level": "info", "request_id": "id-7", "client": "testclient", "key": None,
        "method": "POST", "path": "/v1/predict", "status": 200,
    }  # fmt: skip
    assert (second["path"], second["status"]) == ("/nothing", 404)


def test_lines_of_text_name_the_key(shop_tagger, capfdbinary):
    access = Access(Keys.of([KEY]))
    first, second = logged(shop_tagger, "text", capfdbinary, access=access)
    assert re.search(r"Z testclient \(key 1\) POST /v1/predict 200 \d+\.\d ms id-7$", first)
    assert "GET /nothing 401" in second
    assert KEY not in first + second


@pytest.mark.parametrize("kind", ["text", "json"])
def test_an_address_cannot_write_lines_of_its_own(kind):
    out = io.BytesIO()
    lines = Lines(kind, out)
    fields = {"client": "-", "method": "GET", "status": 404, "seconds": 0, "request_id": "1"}
    for path in ("/a\n2026 admin GET / 200", "/\x1b[2J", "/\ud800", "/\u2028x", "/größe"):
        lines.add(level="info", path=path, **fields)
    lines.write()
    written = out.getvalue().decode().splitlines()
    assert len(written) == 5
    assert r"/a\n2026 admin" in written[0].replace(r"\\n", r"\n")
    assert "\x1b" not in written[1]
    assert "/größe" in written[4]


def test_no_lines_by_default(shop_tagger, capfdbinary):
    assert logged(shop_tagger, "none", capfdbinary) == []


def test_what_loggers_say_is_a_line_too():
    out = io.BytesIO()
    lines = Lines("json", out)
    lines.start()
    names = {name: logging.getLogger(name) for name in module.LOGGERS}
    before = {name: (one.handlers, one.propagate, one.level) for name, one in names.items()}
    try:
        take_over(lines)
        try:
            raise ZeroDivisionError("of our own making")
        except ZeroDivisionError:
            names["multitudes.server"].exception("it failed")
    finally:
        lines.stop()
        for name, (handlers, propagate, level) in before.items():
            names[name].handlers, names[name].propagate = handlers, propagate
            names[name].setLevel(level)
    line = json.loads(out.getvalue())
    assert line["level"] == "error"
    assert line["message"].startswith("it failed\nTraceback")
    assert line["message"].endswith("ZeroDivisionError: of our own making")


def test_a_reader_that_falls_behind_costs_lines_and_no_memory(monkeypatch):
    monkeypatch.setattr(module, "MOST", 10)
    out = io.BytesIO()
    lines = Lines("json", out)
    for n in range(25):
        lines.add(level="info", message=str(n))
    lines.start()
    lines.stop()
    written = [json.loads(line)["message"] for line in out.getvalue().splitlines()]
    assert written == [*map(str, range(10)), "15 lines left out"]


def test_the_description_needs_nothing_from_elsewhere(client):
    page = client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert re.findall(r"https?://[^\"' )]+", page.text) == []
