"""Bytes for a server: whole requests, and what clients do that break them off."""

from __future__ import annotations

import json
import random
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from campaigns import mutation

HEADERS = (
    b"content-length: 5", b"content-length: 0", b"content-length: -1", b"content-length: 99999999",
    b"content-length: 5, 5", b"transfer-encoding: chunked", b"transfer-encoding: gzip",
    b"transfer-encoding: chunked, chunked", b"expect: 100-continue", b"connection: close",
    b"connection: upgrade\r\nupgrade: websocket", b"connection: keep-alive", b"host: evil.example",
    b"content-type: text/plain", b"content-type: application/json; charset=utf-16",
    b"content-encoding: gzip", b"content-encoding: br", b"accept: */*", b"accept-encoding: zstd",
    b"x: " + b"y" * 9000, b"x: \x80\xff", b" folded: yes", b"no colon", b": empty", b"a b: c",
    b"range: bytes=0-1", b"if-none-match: *", b"te: trailers", b"trailer: x", b"cookie: a=b",
    b"x-forwarded-for: 1.2.3.4", b"forwarded: for=x", b"date: never", b"\r\n\r\n",
)  # fmt: skip
METHODS = (b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"TRACE", b"CONNECT", b"PRI",
           b"get", b"P\x00ST", b"")  # fmt: skip
PATHS = (
    b"/health", b"/ready", b"/v1/models", b"/v1/predict", b"/v1/explain", b"/docs",
    b"/openapi.json", b"/", b"/metrics", b"/v1/models/model", b"/v1/models/%00/reload",
    b"/v1/labels?prefix=%ff&limit=3", b"/v1/labels?limit=-1", b"/v1/labels/details?label=%00",
    b"/v1/senses?label=belt&model=none", b"/v1/corrections", b"/v1/corrections?after=1e9",
    b"*", b"/%00", b"/%ff", b"/v1/predict/", b"//v1/predict", b"/v1/predict?x=%ff&y",
    b"/v1/predict#x",
    b"http://evil.example/health", b"/..%2f..%2fetc/passwd", b"/" + b"a" * 3000, b"health",
    b"/\x80",
)  # fmt: skip
TOKENS = (
    *HEADERS, *METHODS, *PATHS, *mutation.JSON, *mutation.NUMBERS, b"HTTP/1.1", b"HTTP/1.0",
    b"HTTP/0.9", b"HTTP/2.0", b"0\r\n\r\n", b"5\r\nhello\r\n", b"fffffffffffffffff\r\n",
    b"-1\r\n", b"1;x=y\r\na\r\n", b'"texts":', b'"top_k":', b'"kind":', b'"sets"',
    b'"probabilities"', b'"threshold":', b'"text":', b'"label":',
)  # fmt: skip
BODIES = (
    {"texts": ["a leather belt"]},
    {"texts": ["a leather belt", "a silver spoon"], "top_k": 3, "kind": "probabilities"},
    {"texts": ["oak desk"], "kind": "sets", "threshold": 0.1},
    {"texts": []},
    {"text": "a leather belt", "label": "belt"},
    {"texts": [""] * 50, "top_k": 1000},
    {"texts": ["wörter ünd 漢字 😀\u2028"]},
)


def request(body: bytes, *, method: bytes = b"POST", path: bytes = b"/v1/predict",
            headers: Sequence[bytes] = ()) -> bytes:  # fmt: skip
    """Return the bytes of a whole request."""
    first = b"%b %b HTTP/1.1" % (method, path)
    length = b"content-length: %d" % len(body)
    lines = [first, b"host: localhost", b"content-type: application/json", length, *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunked(body: bytes, size: int) -> bytes:
    """Return a request whose body comes in pieces."""
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    framed = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    head = request(b"").replace(b"content-length: 0", b"transfer-encoding: chunked")
    return head + framed + b"0\r\n\r\n"


def corpus() -> list[bytes]:
    """Return requests that are as they should be, to be mutated."""
    bodies = [json.dumps(body).encode() for body in BODIES]
    asked = [request(body, path=b"/v1/explain" if b'"text":' in body else b"/v1/predict")
             for body in bodies]  # fmt: skip
    asked += [request(b"", method=b"GET", path=path) for path in PATHS[:7]]
    asked += [chunked(body, 7) for body in bodies[:3]]
    return [*asked, asked[0] * 3, asked[7] + asked[1] + asked[8]]


def drawn(rng: random.Random, wanted: mutation.Mutation) -> bytes:
    """Return bytes to send: mutated as they are, or put together anew with odd headers."""
    if rng.random() < 0.6:
        return wanted.draw(rng)
    body = json.dumps(rng.choice(BODIES)).encode()
    extra = [rng.choice(HEADERS) for _ in range(rng.randrange(4))]
    path = rng.choice(PATHS) if rng.random() < 0.5 else b"/v1/predict"
    method = rng.choice(METHODS) if rng.random() < 0.3 else b"POST"
    return request(body, method=method, path=path, headers=extra)


def send_whole(client: socket.socket, data: bytes) -> None:
    """Send all at once."""
    client.sendall(data)


def send_in_pieces(client: socket.socket, data: bytes) -> None:
    """Send in pieces, each of which arrives alone."""
    size = max(1, len(data) // 5)
    for at in range(0, len(data), size):
        client.sendall(data[at : at + size])
        time.sleep(0.002)


def send_half(client: socket.socket, data: bytes) -> None:
    """Send the first half, and nothing more."""
    client.sendall(data[: len(data) // 2])


def half_close(client: socket.socket, data: bytes) -> None:
    """Send all and say that nothing follows."""
    client.sendall(data)
    with suppress(OSError):  # refused already, and closed
        client.shutdown(socket.SHUT_WR)


def leave(client: socket.socket, data: bytes) -> None:
    """Send all and leave."""
    client.sendall(data)
    client.close()


def reset(client: socket.socket, data: bytes) -> None:
    """Send a half and break the connection off."""
    client.sendall(data[: len(data) // 2])
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    client.close()


MANNERS: dict[str, Callable[[socket.socket, bytes], None]] = {
    "whole": send_whole,
    "in pieces": send_in_pieces,
    "a half": send_half,
    "half-closed": half_close,
    "left": leave,
    "reset": reset,
}
