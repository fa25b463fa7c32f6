"""Requests are read whole before they reach the application, within limits of size and time.

A plain ASGI layer, so that it holds under any server. What is too large is refused as soon as that
is known: by the length a client declares, or while its request comes in.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Collection
from functools import lru_cache

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from multitudes.server.leaving import is_whole
from multitudes.server.limits import Limits
from multitudes.server.reading import SMALL
from multitudes.server.refusals import (
    BadFrameError,
    BusyError,
    GoneError,
    RefusedError,
    TooLargeError,
    TooSlowError,
    as_answer,
)

TURNS = 4  # large requests that are read at once: more would keep small ones waiting
TURN_SECONDS = 0.05  # for a client to send a large request in its turn; slow ones go on without


class Room:
    """Counts the bytes that requests and answers hold at once."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.held = 0

    def take(self, n: int) -> None:
        """Count `n` more bytes, or refuse them; what is alone is never refused."""
        if self.held and self.held + n > self.max_bytes:
            raise BusyError(
                f"the server holds {self.held:,} bytes of requests and answers, at most "
                f"{self.max_bytes:,} at once: try again in a moment"
            )
        self.held += n

    def give(self, n: int) -> None:
        """Count `n` bytes less."""
        self.held -= n


class WholeBodies:
    """Hands requests on once they are there, and refuses those that are too large or too slow.

    Parameters
    ----------
    app : ASGI application
    limits : Limits
    room : Room
    hosts : collection of str, optional
        Names by which the server may be addressed; by default any. Numeric addresses always are
        allowed: a page of another site can have its own name point here, but cannot forge these.
    """

    def __init__(
        self, app: ASGIApp, *, limits: Limits, room: Room, hosts: Collection[str] | None = None
    ) -> None:
        self.app = app
        self.limits = limits
        self.room = room
        self.turns = asyncio.Semaphore(TURNS)
        self.hosts = None if hosts is None or "*" in hosts else {name.lower() for name in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = bytearray()
        try:
            await self._read(scope, receive, body)
        except GoneError:
            return
        except RefusedError as error:
            await as_answer(error)(scope, receive, send)
            return
        n = len(body)
        try:
            await self.app(scope, _replaying(body, receive), send)
        finally:
            self.room.give(n)

    async def _read(self, scope: Scope, receive: Receive, body: bytearray) -> None:
        """Append what a client sends to `body`, or give back what it took and raise."""
        try:
            declared = self._check_headers(scope)
            if is_whole(scope):
                await self._collect(receive, body)
                return
            async with asyncio.timeout(self.limits.body_seconds):
                is_small = declared is not None and declared <= SMALL
                if is_small or not await self._collect_quickly(receive, body):
                    await self._collect(receive, body)
        except BaseException as error:
            self.room.give(len(body))
            if isinstance(error, TimeoutError):
                raise TooSlowError(
                    f"the request was not whole after {self.limits.body_seconds:g} seconds: "
                    f"{len(body):,} bytes of it came"
                ) from None
            raise

    async def _collect_quickly(self, receive: Receive, body: bytearray) -> bool:
        """Read a large request in its turn; False if its client does not send it fast enough."""
        async with self.turns:
            try:
                async with asyncio.timeout(TURN_SECONDS):
                    await self._collect(receive, body)
            except TimeoutError:
                return False
        return True

    async def _collect(self, receive: Receive, body: bytearray) -> None:
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise GoneError("the client left before its request was whole")
            piece = message.get("body", b"")
            if len(body) + len(piece) > self.limits.max_body:
                raise _too_large(f"more than {self.limits.max_body:,}", self.limits)
            self.room.take(len(piece))
            body += piece
            more = message.get("more_body", False)

    def _check_headers(self, scope: Scope) -> int | None:
        """Refuse what a request declares, or return how many bytes it will have, if it says so."""
        lengths = [value for name, value in scope["headers"] if name == b"content-length"]
        chunked = any(name == b"transfer-encoding" for name, _ in scope["headers"])
        if len(lengths) > 1 or (lengths and chunked):
            raise BadFrameError(
                "the request declares its length twice: send either content-length, once, or "
                "transfer-encoding: chunked"
            )
        declared = None if chunked else 0
        if lengths:
            if not lengths[0].isdigit():
                raise BadFrameError("content-length is not a number of bytes")
            # Digits beyond these are not read as a number: that takes long if there are many.
            declared = int(lengths[0][:20])
            if declared > self.limits.max_body:
                raise _too_large(f"{declared:,}", self.limits)
        if self.hosts is not None:
            self._check_host(scope)
        return declared

    def _check_host(self, scope: Scope) -> None:
        given = next((value for name, value in scope["headers"] if name == b"host"), b"")
        host = host_of(given.decode("latin-1"))
        if host and not is_number(host) and host not in (self.hosts or ()):
            raise BadFrameError(
                f"this server does not answer to the name {host[:100]!r}: start it with "
                "--allow-host NAME, or ask for it by its address"
            )


def _too_large(n: str, limits: Limits) -> TooLargeError:
    return TooLargeError(
        f"the request has {n} bytes, at most {limits.max_body:,} are taken at once: send several "
        "requests"
    )


def _replaying(body: bytearray, receive: Receive) -> Receive:
    """Return a `receive` that gives the body, once, and then waits for the client to leave."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        whole = bytes(body)
        body.clear()
        return {"type": "http.request", "body": whole, "more_body": False}

    return replay


@lru_cache(256)
def host_of(header: str) -> str:
    """Return the name or address in a Host header, without its port."""
    header = header.strip().lower()
    if header.startswith("["):
        return header[1:].partition("]")[0]
    name, _, port = header.rpartition(":")
    return (name if name and port.isdigit() else header).rstrip(".")


@lru_cache(256)
def is_number(host: str) -> bool:
    """Whether a host is a numeric address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
