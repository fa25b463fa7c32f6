"""Requests that are no requests, over a real socket: each is refused in one form, and all live on.

One server takes them all, and must be as well after each as before.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time

import httpx
import pytest

pytest.importorskip("fastapi")

from multitudes.server import Limits
from multitudes.server.http import connections
from tests.server.serving import JSON, SHORT, everything, is_closed, request, serving

TEXTS = b'{"texts": ["a leather belt"], "top_k": 1}'
CHUNKED = b"transfer-encoding: chunked"
CLOSE = b"connection: close"


@pytest.fixture(scope="module")
def served(shop_tagger):
    limits = SHORT.replaced(max_body=200_000, max_characters=100_000)
    with serving(shop_tagger, limits) as running:
        yield running


@pytest.fixture(autouse=True)
def lives_on(served):
    yield
    assert served.health() < 5
    assert served.post("/v1/predict", TEXTS).status_code == 200


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def said(answer: bytes) -> str:
    """The error in an answer; each has its one form."""
    head, _, content = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/json" in head.lower()
    (key,) = found = json.loads(content)
    assert key == "error"
    return found["error"]


@pytest.mark.parametrize(
    ("data", "code", "error"),
    [
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 500, 400,
                     "this is not a request", id="TLS hello"),
        pytest.param(b"hello there\r\n\r\n", 400, "this is not a request", id="garbage"),
        pytest.param(b"\x00" * 1000, 400, "this is not a request", id="zeros"),
        pytest.param(b"GET /health HTTP/1.1\r\n\r\n", 400, "this is not a request", id="no host"),
        pytest.param(b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n", 431,
                     "this is not a request", id="long address"),
        pytest.param(b"GET / HTTP/1.1\r\nhost: x\r\na: " + b"b" * 200_000 + b"\r\n\r\n", 431,
                     "this is not a request", id="long header"),
        pytest.param(b"GET / HTTP/1.1\r\nhost: x\r\n" + b"a: b\r\n" * 40_000 + b"\r\n", 431,
                     "this is not a request", id="many headers"),
        pytest.param(request(TEXTS, b"content-length: 5", b"content-length: 41"), 400,
                     "this is not a request", id="two lengths"),
        pytest.param(request(TEXTS, b"content-length: -5"), 400, "this is not", id="negative"),
        pytest.param(request(TEXTS, b"content-length: +41"), 400, "this is not", id="signed"),
        pytest.param(request(TEXTS, b"content-length: " + b"9" * 5000), 400, "this is not",
                     id="long length"),
        pytest.param(request(b"0\r\n\r\n", CHUNKED, b"content-length: 5"), 400,
                     "the request declares its length twice", id="length and chunks"),
        pytest.param(request(b"zz\r\nab\r\n0\r\n\r\n", CHUNKED), 400, "this is not",
                     id="bad size of a chunk"),
        pytest.param(request(b"f" * 100 + b"\r\nab\r\n0\r\n\r\n", CHUNKED), 400, "this is not",
                     id="huge size of a chunk"),
        pytest.param(request(b"1\r\na\r\n" * 20_000 + b"0\r\n\r\n", CHUNKED), 400,
                     "this is not a request that can be read: the pieces", id="tiny chunks"),
        pytest.param(request(TEXTS, b"transfer-encoding: gzip, chunked"), 501, "this is not",
                     id="another encoding"),
    ],
)  # fmt: skip
def test_what_is_not_http_is_refused_and_the_connection_closed(served, data, code, error):
    answer = served.ask(data)
    assert status(answer) == code
    assert said(answer).startswith(error)


@pytest.mark.parametrize(
    ("body", "code", "error"),
    [
        (b'{"texts": [' + b"1," * 90_000 + b"1]}", 413, "the request has more than 1,000 texts"),
        (b'{"texts": ["' + b"a" * 150_000 + b'"]}', 413, "the request has more than 100,000 char"),
        (b'{"texts": ["' + b"a" * 100_001 + b'"]}', 413, "the request has 100,001 characters"),
        (b'{"texts": [' + b'"",' * 1001 + b'""]}', 413, "the request has 1,002 texts"),
        (b"[" * 10_000, 422, "the request cannot be read: its lists nest too deeply"),
        (b'{"texts": ["\xff"]}', 422, "the request cannot be read: it is not UTF-8"),
        (rb'{"texts": ["\ud800"]}', 422, "the request is not JSON: "),
        (b'{"texts": ["a"], "threshold": NaN}', 422, "the request is not JSON: "),
        (b'{"texts": ["a"], "threshold": 1e999}', 422, "the request is not JSON: "),
        (b'{"texts": ["a"], "top_k": 1e5}', 422, "top_k: Input should be a valid integer"),
        (b'{"texts": ["a"], "top_k": ' + b"9" * 5000 + b"}", 422, "the request is not JSON: "),
        (b'{"texts": ["a"], "top_k": 123456789012345678901234}', 422, "top_k: Input should be"),
        (b'\xef\xbb\xbf{"texts": ["a"]}', 422, "the request is not JSON: "),
        (b'{"texts": ["a"]} {"texts": ["a"]}', 422, "the request is not JSON: "),
        (b'{"texts": ["a\x00"]}', 422, "the request is not JSON: "),
        (b"null", 422, "the request: Input should be"),
    ],
)
def test_bodies_that_ask_nothing_get_one_error(served, body, code, error):
    answer = served.post("/v1/predict", body)
    assert answer.status_code == code
    assert answer.json()["error"].startswith(error)
    assert len(answer.content) < 500


@pytest.mark.parametrize("how", [(), (CHUNKED,)])
def test_a_body_over_the_limit_is_refused_before_it_is_whole(served, how):
    # Only the head says how long it is, or only what came so far: the rest never comes.
    body = b"30d40\r\n" + b" " * 200_000 + b"\r\n5\r\n12345" if how else b""
    head = request(body, *(how or (b"content-length: 200001",)))
    with served.connect(head, timeout=5) as client:
        answer = http.client.HTTPResponse(client)
        answer.begin()
        assert answer.status == 413
        assert "at most 200,000 are taken" in json.load(answer)["error"]


def test_a_client_that_sends_its_large_body_whole_reads_why_it_was_refused(served):
    answer = served.post("/v1/predict", b" " * 5_000_000)
    assert answer.status_code == 413


def test_a_refused_body_without_end_is_not_read_for_long(served, monkeypatch):
    monkeypatch.setattr(connections, "LINGER", 0.3)
    begun = time.monotonic()
    client = served.connect(request(b"", b"content-length: 9999999999999"))
    with client, pytest.raises(ConnectionError):
        flood(client, until=begun + 10)


def flood(client: socket.socket, *, until: float) -> None:
    """Send and send."""
    while time.monotonic() < until:
        client.sendall(b" " * 65536)


def test_requests_behind_one_another_are_answered_in_order(served):
    paths = [b"/health", b"/nothing", b"/v1/models"] * 20
    data = b"".join(b"GET %b HTTP/1.1\r\nhost: x\r\n\r\n" % path for path in paths)
    answer = served.ask(data + request(TEXTS, CLOSE))
    codes = [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]]
    assert codes == [200, 404, 200] * 20 + [200]


def test_http_1_0(served):
    answer = served.ask(b"GET /health HTTP/1.0\r\n\r\n")
    assert status(answer) == 200
    assert answer.endswith(b'{"status":"ok"}')


@pytest.mark.parametrize("path", ["/health", "/ready"])
def test_head(served, path):
    answer = httpx.head(served.url + path)
    assert (answer.status_code, answer.content) == (200, b"")


def test_a_connection_is_not_upgraded(served):
    upgrade = (b"connection: upgrade", b"upgrade: websocket", b"sec-websocket-version: 13",
               b"sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==")  # fmt: skip
    with served.connect(request(TEXTS, *upgrade)) as client:
        assert client.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_expect_100_continue(served):
    with served.connect(request(b"", b"content-length: 41", b"expect: 100-continue")) as client:
        assert client.recv(65536).startswith(b"HTTP/1.1 100 ")
        client.sendall(TEXTS)
        assert status(client.recv(65536)) == 200
    large = request(b"", b"content-length: 999999", b"expect: 100-continue")
    with served.connect(large) as client:
        assert status(client.recv(65536)) == 413


def test_a_real_tls_client_fails_at_once(served):
    context = ssl.create_default_context()
    with served.connect() as client, pytest.raises((ssl.SSLError, ConnectionError)):
        context.wrap_socket(client, server_hostname="localhost")


@pytest.mark.parametrize("path", ["/%00", "/%ff%fe", "/a%0d%0ab", "//", "/../../etc/passwd", "/*"])
def test_odd_addresses(served, path):
    answer = served.ask(f"GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
    assert status(answer) == 404
    assert said(answer).startswith("there is nothing at ")


def test_names_of_other_sites_are_refused(shop_tagger):
    with serving(shop_tagger, Limits(grace_seconds=0), hosts=["localhost", "tags.example"]) as one:
        for name, code in [
            ("localhost", 200), ("LOCALHOST:80", 200), ("tags.example.", 200), ("[::1]:80", 200),
            ("192.0.2.7:8000", 200), ("evil.example", 400), ("localhost.evil.example", 400),
            ("127.0.0.1.evil.example", 400), ("x" * 5000, 400),
        ]:  # fmt: skip
            answer = httpx.get(f"{one.url}/health", headers={"host": name})
            assert answer.status_code == code, name
        assert "does not answer to the name 'xxx" in answer.json()["error"]
        assert len(answer.content) < 500


def test_a_client_that_never_reads_is_let_go(shop_tagger):
    # Answers of some megabytes, more than the system keeps, of which the client takes nothing.
    texts = {"texts": ["a leather belt"] * 1000, "top_k": 30}
    n = 50  # some systems keep a dozen megabytes
    with serving(shop_tagger, SHORT) as one:
        client = one.connect(request(json.dumps(texts).encode()) * n)
        for _ in range(100):
            if not one.server.server_state.connections:
                break
            time.sleep(0.1)
        assert not one.server.server_state.connections
        assert len(everything(client)) < n * len(one.post("/v1/predict", texts).content)
        client.close()


def test_idle_connections_are_closed(served):
    with httpx.Client() as client, served.connect() as silent:
        assert client.get(f"{served.url}/health").status_code == 200
        assert is_closed(silent, within=5)
        for _ in range(50):
            if not served.server.server_state.connections:
                break
            time.sleep(0.1)
        assert not served.server.server_state.connections
        assert client.get(f"{served.url}/health", headers=JSON).status_code == 200
