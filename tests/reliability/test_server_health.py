"""Whether the server is up is answered at once, whatever the model has to do."""

from __future__ import annotations

import socket
import threading
import time

import httpx
import pytest

pytest.importorskip("fastapi")

from multitudes.server import Limits
from tests.reliability.test_server_connections import held_up
from tests.server.serving import JSON, request, serving

TEXTS = b'{"texts": ["a leather belt"]}'


@pytest.fixture
def stuck(shop_tagger, monkeypatch):
    """A server whose model takes no step, and a way to let it go on."""
    goes_on = held_up(shop_tagger, monkeypatch)
    limits = Limits(max_waiting=3, answer_seconds=1.5, grace_seconds=0.1)
    with serving(shop_tagger, limits) as served:
        yield served
        goes_on.set()


def test_health_is_never_behind_predictions(stuck):
    clients = fill(stuck)
    assert max(stuck.health() for _ in range(20)) < 0.5
    assert httpx.get(f"{stuck.url}/v1/models").status_code == 200
    for client in clients:
        client.close()


def test_requests_beyond_the_queue_are_told_to_come_again(stuck):
    assert httpx.get(f"{stuck.url}/ready").json() == {"status": "ready"}
    clients = fill(stuck)
    full, not_ready = stuck.post("/v1/predict", TEXTS), httpx.get(f"{stuck.url}/ready")
    for answer, code in ((full, 429), (not_ready, 503)):
        assert answer.status_code == code
        assert answer.headers["retry-after"] == "1"
    for client in clients:
        client.close()


def test_an_answer_that_takes_too_long_is_called_off(stuck):
    begun = time.monotonic()
    answer = stuck.post("/v1/predict", TEXTS)
    assert answer.status_code == 503
    assert "no answer within 1.5 seconds" in answer.json()["error"]
    assert time.monotonic() - begun < 5


def test_nothing_is_computed_for_clients_that_left(stuck):
    first, *others = fill(stuck)
    for client in others:
        client.close()
    wait_for(lambda: not stuck.server.work._waiting)
    assert stuck.server.work.is_busy
    first.close()


def test_many_legal_requests_at_once_are_all_answered(shop_tagger):
    content = {"texts": ["a leather belt and a silver spoon"] * 1000, "top_k": 3}
    with serving(shop_tagger, Limits(grace_seconds=1)) as served, httpx.Client() as client:
        codes: list[int] = []

        def ask() -> None:
            answer = client.post(f"{served.url}/v1/predict", json=content, headers=JSON, timeout=60)
            codes.append(answer.status_code)

        asking = [threading.Thread(target=ask) for _ in range(20)]
        for one in asking:
            one.start()
        times = []
        while any(one.is_alive() for one in asking):
            times.append(served.health())
        assert codes == [200] * 20
        assert sorted(times)[len(times) // 2] < 0.5


def fill(stuck) -> list[socket.socket]:
    """One client whose request is worked on, and three whose requests wait."""
    first = stuck.connect(request(TEXTS))
    wait_for(lambda: stuck.server.work.is_busy)
    others = [stuck.connect(request(TEXTS)) for _ in range(3)]
    wait_for(lambda: len(stuck.server.work._waiting) == 3)
    return [first, *others]


def wait_for(condition) -> None:
    """Wait until something is so, for some seconds at most."""
    until = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)
