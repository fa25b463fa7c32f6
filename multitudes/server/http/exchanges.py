"""One request and its answer on a connection, as an ASGI application sees them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Protocol

from multitudes.server.leaving import IS_WHOLE, WHEN_GONE

logger = logging.getLogger("uvicorn.error")

STATUS_LINES = {one.value: b"HTTP/1.1 %d %b\r\n" % (one.value, one.phrase.encode())
                for one in HTTPStatus}  # fmt: skip
NOT_IN_HEADERS = frozenset(b"\r\n\0")


class Channel(Protocol):
    """The connection that a request came over, as far as an exchange knows it."""

    transport: asyncio.Transport
    loop: asyncio.AbstractEventLoop
    server_state: Any
    is_ending: bool
    stuck: asyncio.Future[None] | None

    def read_on(self) -> None:
        """Read more of what the client sends."""

    def answered(self) -> None:
        """Note that the answer is written."""

    def fail(self) -> None:
        """Answer for an application that did not."""


class Exchange:
    """A request that comes in, and the answer that goes out.

    Parameters
    ----------
    connection : Channel
    scope : dict
        What ASGI tells an application about a request.
    keep_alive : bool
        Whether the client would ask again over this connection.
    expects : bool
        Whether the client waits to be told to send its body.
    """

    __slots__ = (
        "_callbacks", "_chunked", "_handed_on", "_head", "_waiter", "body", "connection",
        "expects", "is_answered", "is_begun", "is_gone", "keep_alive", "more_body", "scope",
    )  # fmt: skip

    def __init__(
        self, connection: Channel, scope: dict[str, Any], *, keep_alive: bool, expects: bool
    ) -> None:
        self.connection = connection
        self.scope = scope
        self.keep_alive = keep_alive
        self.expects = expects
        self.body: list[bytes] = []  # what came and was not handed on yet
        self.more_body = True
        self.is_begun = False  # a part of the answer was given
        self.is_answered = False
        self.is_gone = False  # the client is
        self._handed_on = False  # all of the request was
        self._head: list[bytes] = []  # of the answer, until it is written with its first piece
        self._chunked = False
        self._waiter: asyncio.Future[None] | None = None
        self._callbacks: list[Callable[[], None]] = []
        scope["extensions"] = {WHEN_GONE: self.when_gone, IS_WHOLE: self.is_whole}

    async def run(self, app: Any) -> None:
        """Have the application answer; if it fails to, say so."""
        try:
            await app(self.scope, self.receive, self.send)
        except Exception:
            logger.exception("the application failed")
        if not (self.is_answered or self.is_gone):
            self.connection.fail()

    def came(self, piece: bytes) -> None:
        """Take a piece of the request."""
        if not self.is_answered:
            self.body.append(piece)
            self._wake()

    def whole(self) -> None:
        """Note that the request is whole."""
        self.more_body = False
        self._wake()

    def is_whole(self) -> bool:
        """Whether all of the request is there."""
        return not self.more_body

    def left(self) -> None:
        """Note that the client is gone."""
        if self.is_answered or self.is_gone:
            return
        self.is_gone = True
        self._wake()
        for callback in self._callbacks:
            callback()

    def when_gone(self, callback: Callable[[], None]) -> Callable[[], object]:
        """Have a function called if the client leaves before it is answered."""
        if self.is_gone:
            callback()
        self._callbacks.append(callback)
        return self._callbacks.clear

    async def receive(self) -> dict[str, Any]:
        """Return the next piece of the request; after the last, wait for the client to leave."""
        if self.expects and not self.is_gone:
            self.expects = False
            self.connection.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        while not (self.is_gone or self.is_answered):
            if self.body or not (self.more_body or self._handed_on):
                self._handed_on = not self.more_body
                piece, self.body = b"".join(self.body), []
                return {"type": "http.request", "body": piece, "more_body": self.more_body}
            self.connection.read_on()
            self._waiter = self.connection.loop.create_future()
            await self._waiter
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        """Write a part of the answer, as fast as the client takes it."""
        if self.connection.stuck is not None and not self.is_gone:
            await self.connection.stuck
        if self.is_gone:
            return
        if message["type"] == "http.response.start":
            if self.is_begun:
                raise RuntimeError("an answer was begun twice")
            self.is_begun, self.expects = True, False
            self._begin(message["status"], message.get("headers", ()))
        elif not self.is_begun or self.is_answered:
            raise RuntimeError(f"{message['type']} before an answer, or after it")
        else:
            self._write(message.get("body", b""), more=message.get("more_body", False))

    def _begin(self, status: int, headers: Any) -> None:
        """Make the head of the answer."""
        head = [STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status]
        has_length = status in (204, 304)
        for name, value in headers:
            if not NOT_IN_HEADERS.isdisjoint(value) or not NOT_IN_HEADERS.isdisjoint(name):
                raise RuntimeError(f"the header {name!r} cannot be sent")
            lower = name.lower()
            if lower == b"content-length":
                has_length = True
            elif lower == b"connection":
                self.keep_alive = self.keep_alive and value.lower() != b"close"
                continue
            head += (name, b": ", value, b"\r\n")
        for name, value in self.connection.server_state.default_headers:
            head += (name, b": ", value, b"\r\n")
        self._chunked = not has_length and self.scope["http_version"] != "1.0"
        if self._chunked:
            head.append(b"transfer-encoding: chunked\r\n")
        elif not has_length:
            self.keep_alive = False  # its end is that of the connection
        if not self.keep_alive or self.connection.is_ending:
            self.keep_alive = False
            head.append(b"connection: close\r\n")
        head.append(b"\r\n")
        self._head = head

    def _write(self, body: bytes, *, more: bool) -> None:
        """Write a piece of the answer; before the first its head."""
        parts, self._head = self._head, []
        if self.scope["method"] != "HEAD":
            if not self._chunked:
                parts.append(body)
            elif body:
                parts += (b"%x\r\n" % len(body), body, b"\r\n")
            if self._chunked and not more:
                parts.append(b"0\r\n\r\n")
        if parts:
            self.connection.transport.write(b"".join(parts))
        if not more:
            self.is_answered = True
            self._wake()
            self.connection.answered()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
