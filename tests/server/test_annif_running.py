"""Limits of time and room hold at Annif's addresses, too, on a running server."""

from __future__ import annotations

import json
import threading

import httpx
import pytest

pytest.importorskip("fastapi")

from multitudes.server import Limits
from tests.server.crafts import crafts_tagger
from tests.server.serving import SHORT, request, serving

SUGGEST = "/v1/projects/crafts/suggest"
FORM = b"content-type: application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def models():
    return {"crafts": crafts_tagger()}


def test_half_a_form_is_refused_in_time(models):
    half = request(b"text=a", FORM, b"content-length: 100", path=SUGGEST.encode())
    with serving(models, SHORT) as served:
        head, _, body = served.ask(half).partition(b"\r\n\r\n")
    assert b" 408 " in head
    assert b"application/problem+json" in head
    assert json.loads(body)["detail"] == json.loads(body)["error"]


def test_health_does_not_wait_for_large_forms(models):
    form = b"text=" + b"%41" * 4_000_000
    with serving(models, Limits(grace_seconds=1)) as served:
        url, codes = served.url + SUGGEST, []
        headers = {"content-type": "application/x-www-form-urlencoded"}
        senders = [
            threading.Thread(
                target=lambda: codes.append(
                    httpx.post(url, content=form, headers=headers, timeout=30).status_code
                )
            )
            for _ in range(3)
        ]
        for sender in senders:
            sender.start()
        slowest = max(served.health() for _ in range(20))
        for sender in senders:
            sender.join()
    assert codes == [413] * 3
    assert slowest < 2


def test_too_many_that_wait_are_told_so(models, monkeypatch):
    entered, leave = threading.Event(), threading.Event()
    tagger = models["crafts"]
    predict = type(tagger)._predict_kind

    def slow(self, *arguments, **options):
        entered.set()
        leave.wait(10)
        return predict(self, *arguments, **options)

    monkeypatch.setattr(type(tagger), "_predict_kind", slow)
    with serving(models, Limits(grace_seconds=1, max_waiting=1)) as served:

        def ask(answers):
            answers.append(httpx.post(served.url + SUGGEST, data={"text": "belts"}, timeout=30))

        first, others = [], []
        begun = threading.Thread(target=ask, args=(first,))
        begun.start()
        assert entered.wait(10)
        waiting = [threading.Thread(target=ask, args=(others,)) for _ in range(3)]
        for one in waiting:
            one.start()
        for one in waiting[1:]:
            one.join(0.5)
        leave.set()
        for one in (begun, *waiting):
            one.join()
    codes = sorted(answer.status_code for answer in others)
    assert first[0].status_code == 200
    assert codes == [200, 429, 429]
    told = next(answer for answer in others if answer.status_code == 429)
    assert told.json()["status"] == 429
    assert "retry-after" in told.headers
