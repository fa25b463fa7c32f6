"""Clients that do not go on do not stay, do not shut out others, and do not keep it from ending."""

from __future__ import annotations

import resource
import socket
import threading
import time

import httpx
import pytest

pytest.importorskip("fastapi")

from multitudes.server import Limits
from multitudes.server.running import SPARE_FILES, possible_connections
from tests.server.serving import SHORT, is_closed, request, serving

HALF = {
    "nothing": b"",
    "headers": b"POST /v1/predict HTTP/1.1\r\nhost: loc",
    "body": request(b'{"texts":', b"content-length: 1000"),
    "chunks": request(b'9\r\n{"texts":', b"transfer-encoding: chunked"),
}


def test_half_open_connections_are_closed(shop_tagger):
    with serving(shop_tagger, SHORT) as served:
        clients = [served.connect(half) for half in HALF.values() for _ in range(25)]
        begun = time.monotonic()
        assert all(is_closed(client, within=10) for client in clients)
        assert time.monotonic() - begun < 5
        assert served.health() < 5


def test_a_client_that_sends_a_byte_now_and_then_is_closed_too(shop_tagger):
    with serving(shop_tagger, SHORT) as served, served.connect() as client:
        begun = time.monotonic()
        with pytest.raises(ConnectionError):
            send_slowly(client, HALF["headers"] * 10)
        assert time.monotonic() - begun < 5


def test_slow_clients_are_told(shop_tagger):
    with serving(shop_tagger, SHORT) as served:
        assert b"408" in served.ask(HALF["headers"]).split(b"\r\n")[0]
        answer = served.ask(HALF["body"])
        assert b"408" in answer.split(b"\r\n")[0]
        assert b"not whole after 0.4 seconds: 9 bytes of it came" in answer


@pytest.mark.parametrize("half", HALF)
def test_half_open_connections_do_not_shut_out_others(shop_tagger, half):
    limits = Limits(max_connections=20, grace_seconds=0.1)
    with serving(shop_tagger, limits) as served:
        clients = [served.connect(HALF[half]) for _ in range(60)]
        assert served.post("/v1/predict", {"texts": ["a belt"]}).status_code == 200
        assert len(served.server.server_state.connections) <= 20
        assert sum(is_closed(client, within=0.01) for client in clients) >= 40
        for client in clients:
            client.close()


def test_those_who_wait_for_an_answer_are_not_closed_for_others(
    shop_tagger,
    monkeypatch,
):
    goes_on = held_up(shop_tagger, monkeypatch)
    limits = Limits(max_connections=3, grace_seconds=5)
    with serving(shop_tagger, limits) as served:
        answers: list[httpx.Response] = []
        asking = [
            threading.Thread(
                target=lambda: answers.append(served.post("/v1/predict", {"texts": ["a belt"]}))
            )
            for _ in range(3)
        ]
        for one in asking:
            one.start()
        while len(served.server.server_state.tasks) < 3:
            time.sleep(0.01)
        refused = served.ask(b"")
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert b"all connections are in use" in refused
        goes_on.set()
        for one in asking:
            one.join()
        assert [answer.status_code for answer in answers] == [200] * 3


def test_files_that_the_system_allows_are_kept_for_other_uses():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = possible_connections(10**9)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 7, hard))
    try:
        assert possible_connections(10**9) == before - 7
        assert possible_connections(3) == 3
        assert before < soft - SPARE_FILES
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("half", HALF)
def test_the_server_ends_whatever_clients_do(shop_tagger, half):
    limits = Limits(grace_seconds=0.3)
    with serving(shop_tagger, limits) as served:
        client = served.connect(HALF[half])
        time.sleep(0.1)
        begun = time.monotonic()
    assert time.monotonic() - begun < 5
    assert is_closed(client, within=1)


def test_what_was_asked_is_answered_before_the_end(shop_tagger, monkeypatch):
    goes_on = held_up(shop_tagger, monkeypatch)
    with serving(shop_tagger, Limits(grace_seconds=20)) as served:
        answers: list[httpx.Response] = []
        asking = threading.Thread(
            target=lambda: answers.append(served.post("/v1/predict", {"texts": ["a belt"]}))
        )
        asking.start()
        while not served.server.work.is_busy:
            time.sleep(0.01)
        served.server.should_exit = True
        time.sleep(0.3)
        goes_on.set()
        asking.join()
        assert answers[0].status_code == 200
    assert served.server.answered_all


def test_a_prediction_that_does_not_end_does_not_keep_the_server(
    shop_tagger,
    monkeypatch,
):
    goes_on = held_up(shop_tagger, monkeypatch)
    with serving(shop_tagger, Limits(grace_seconds=0.3)) as served:
        answers: list[httpx.Response] = []
        asking = [
            threading.Thread(
                target=lambda: answers.append(served.post("/v1/predict", {"texts": ["a belt"]}))
            )
            for _ in range(2)
        ]
        for one in asking:
            one.start()
        while not (served.server.work.is_busy and len(served.server.server_state.tasks) == 2):
            time.sleep(0.01)
        begun = time.monotonic()
        served.server.should_exit = True
        for one in asking:
            one.join()
        assert time.monotonic() - begun < 5
        assert [answer.status_code for answer in answers] == [503, 503]
        assert "the server is stopping" in answers[0].json()["error"]
    assert not served.server.answered_all
    goes_on.set()


def send_slowly(client: socket.socket, content: bytes) -> None:
    """Send one byte after the other."""
    for byte in content:
        client.sendall(bytes([byte]))
        time.sleep(0.05)


def held_up(tagger, monkeypatch) -> threading.Event:
    """Let predictions wait for an event, which is returned."""
    goes_on = threading.Event()
    original = tagger._predict_kind

    def waiting(*args, **kwargs):
        assert goes_on.wait(60)
        return original(*args, **kwargs)

    monkeypatch.setattr(tagger, "_predict_kind", waiting)
    return goes_on
