"""A server on a real socket, in a thread of the test, and clients that misbehave."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx

from multitudes.server import Limits, make_app
from multitudes.server.running import Server, bound

SHORT = Limits(
    header_seconds=0.4,
    body_seconds=0.4,
    idle_seconds=0.6,
    write_seconds=0.5,
    answer_seconds=5,
    grace_seconds=0.5,
)
JSON = {"content-type": "application/json"}


@dataclass
class Served:
    """A running server and how to reach it."""

    port: int
    server: Server

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def connect(self, data: bytes = b"", *, timeout: float = 10) -> socket.socket:
        """A connection on which something was sent."""
        client = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        client.sendall(data)
        return client

    def ask(self, data: bytes, *, timeout: float = 10) -> bytes:
        """All that comes back on a connection until the server closes it."""
        with self.connect(data, timeout=timeout) as client:
            return everything(client)

    def post(self, path: str, content: object) -> httpx.Response:
        body = content if isinstance(content, bytes) else json.dumps(content)
        return httpx.post(self.url + path, content=body, headers=JSON, timeout=30)

    def health(self) -> float:
        """Seconds that /health takes."""
        begun = time.perf_counter()
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        client.request("GET", "/health")
        answer = client.getresponse()
        assert (answer.status, answer.read()) == (200, b'{"status":"ok"}')
        client.close()
        return time.perf_counter() - begun


def everything(client: socket.socket) -> bytes:
    """All that comes until the other side closes, or resets, the connection."""
    received = b""
    try:
        while piece := client.recv(65536):
            received += piece
    except ConnectionResetError:
        pass
    return received


def is_closed(client: socket.socket, within: float) -> bool:
    """Whether the server closes a connection in time."""
    client.settimeout(within)
    try:
        while client.recv(65536):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


@contextmanager
def serving(tagger, limits: Limits = SHORT, **options) -> Iterator[Served]:
    """Serve a tagger; the end is that of SIGTERM, and must come in time."""
    app = make_app(tagger, limits=limits, **options)
    listening = bound("127.0.0.1", 0)
    server = Server(app, app.state.work, limits, log_level="critical")
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        served = Served(listening.getsockname()[1], server)
        served.health()
        yield served
    finally:
        server.should_exit = True
        thread.join(limits.grace_seconds + 10)
        assert not thread.is_alive()


def request(body: bytes = b"", *headers: bytes, path: bytes = b"/v1/predict") -> bytes:
    """The bytes of a request, with its length unless headers say otherwise."""
    given = b"\r\n".join(headers)
    if not any(h.lower().startswith((b"content-length", b"transfer-")) for h in headers):
        given += (b"\r\n" if given else b"") + b"content-length: %d" % len(body)
    return (
        b"POST %b HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n%b\r\n\r\n%b"
        % (path, given, body)
    )
