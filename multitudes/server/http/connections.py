"""Connections that do not stay open for longer than their clients have a use for them.

A protocol for uvicorn's server on httptools, the parser of Node.js: three times as fast as h11, but
without bounds on headers, and it reads on behind a request before that is answered. So it is given
one request at a time, in slices, by a connection that counts and looks at the clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import httptools
import orjson

from multitudes.server.http.exchanges import Exchange
from multitudes.server.http.frames import Frame, refusal
from multitudes.server.limits import Limits
from multitudes.server.refusals import readable

SLICE, BODY_SLICE = 8 * 1024, 64 * 1024  # bytes read at a time: of headers, and of a body
LINGER = 3.0  # seconds in which a client that was refused may still send, and read why

# What a connection can be doing, and the order in which connections are closed to make room.
IDLE, CLOSING, HEADERS, REFUSED, WRITING, BODY, ANSWERING = range(7)

_buffer = memoryview(bytearray(BODY_SLICE))  # what is read is copied from it before more is read


class Connection(asyncio.BufferedProtocol):
    """One client; see `end_if_overdue` for how long it may take.

    Parameters
    ----------
    config, server_state, app_state
        Of uvicorn, which makes connections.
    limits : Limits
    """

    transport: asyncio.Transport

    def __init__(
        self, config: Any, server_state: Any, app_state: Any, _loop: Any = None, *, limits: Limits
    ) -> None:
        self.app = config.loaded_app
        self.app_state = app_state
        self.server_state = server_state
        self.connections: set[Any] = server_state.connections
        self.loop: asyncio.AbstractEventLoop = _loop or asyncio.get_running_loop()
        self.limits = limits
        self.frame = Frame(self)
        self.exchange: Exchange | None = None
        self.held = b""  # what came behind a request that is not answered yet
        self.is_paused = False
        self.is_over = False  # the last was said, and what still comes is not read
        self.is_ending = False  # the server is: no more requests after this one
        self.since = self.loop.time()  # when it began to do what it is doing
        self.has_asked = False  # a part of a request that is not answered is there
        self.begun = True  # whether a part of the next request is there, or a first one is due
        self.stuck: asyncio.Future[None] | None = None  # until the client takes its answer
        self.stuck_since = 0.0

    # What the event loop tells.

    def connection_made(self, transport: Any) -> None:
        """Take a new client; in place of another one if there are too many."""
        self.transport = transport
        self.addresses = {
            "client": _address(transport.get_extra_info("peername")),
            "server": _address(transport.get_extra_info("sockname")),
        }
        self.connections.add(self)
        if len(self.connections) <= self.limits.max_connections:
            return
        others: Iterable[Any] = (one for one in self.connections if one is not self)
        oldest = min(others, key=lambda one: (one.phase, one.since), default=None)
        if oldest is None or oldest.phase == ANSWERING:
            self.say(503, "all connections are in use: try again in a moment")
        else:
            oldest.cut()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return where to put what a client sends; how much, before others have their turn."""
        return _buffer if self.frame.is_inside else _buffer[:SLICE]

    def buffer_updated(self, nbytes: int) -> None:
        """Read what a client sends."""
        if self.is_over:
            return
        data = bytes(_buffer[:nbytes])
        self.has_asked = True
        if not self.begun and self.phase != REFUSED:
            self.begun = True
            self.since = self.loop.time()
        self.held = self.held + data if self.held else data
        self._go_on()

    def eof_received(self) -> None:
        """Take the end of what a client sends for its leaving."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client."""
        self.connections.discard(self)
        self.held = b""
        if self.exchange is not None:
            self.exchange.left()
        self.resume_writing()

    def pause_writing(self) -> None:
        """Note that the client does not take its answer."""
        self.stuck, self.stuck_since = self.loop.create_future(), self.loop.time()

    def resume_writing(self) -> None:
        """Note that it does again."""
        stuck, self.stuck = self.stuck, None
        if stuck is not None and not stuck.done():
            stuck.set_result(None)

    # What the parts of the connection tell.

    def begin(self, scope: dict[str, Any], *, keep_alive: bool, expects: bool) -> Exchange:
        """Have a request answered, of which the headers are there."""
        scope |= self.addresses
        scope["state"] = self.app_state.copy()
        exchange = self.exchange = Exchange(self, scope, keep_alive=keep_alive, expects=expects)
        tasks = self.server_state.tasks
        task = self.loop.create_task(exchange.run(self.app))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        return exchange

    def read_on(self) -> None:
        """Read more of what the client sends."""
        if self.is_paused and not self.held and not self.transport.is_closing():
            self.is_paused = False
            self.transport.resume_reading()

    def answered(self) -> None:
        """Wait for the next request, or go on with what came of it."""
        self.server_state.total_requests += 1
        self.since = self.loop.time()
        self.begun = self.has_asked = bool(self.held)
        if self.exchange is None or not self.exchange.keep_alive:
            self._close(is_sending=self.frame.is_inside)
        elif self.held:
            self.loop.call_soon(self._go_on)  # not here: thousands may be waiting in a row
        else:
            self.read_on()

    def fail(self) -> None:
        """Answer for an application that did not."""
        self.say(500, "unexpected error: there was no answer")

    # What the server tells.

    def shutdown(self) -> None:
        """Close the connection after the answer that its client waits for or is asking for."""
        self.is_ending = True

    def cut(self) -> None:
        """Close the connection at once, whatever was not sent yet."""
        self.connections.discard(self)  # as it will be in a moment: nobody is to wait for it
        self.transport.abort()

    @property
    def phase(self) -> int:
        """What the connection is doing."""
        if self.transport.is_closing() or self.is_over:
            return CLOSING
        if self.stuck is not None:
            return WRITING
        if self.exchange is not None and not self.exchange.is_answered:
            return BODY if self.exchange.more_body else ANSWERING
        if self.frame.is_inside:
            return REFUSED
        return HEADERS if self.begun else IDLE

    @property
    def is_quiet(self) -> bool:
        """Whether nothing was asked, or begun to be asked, since the last answer."""
        return not self.transport.is_closing() and not self.has_asked and self.phase != REFUSED

    def end_if_overdue(self, now: float) -> None:
        """Close the connection if its client takes too long."""
        phase, waited = self.phase, now - self.since
        if phase == HEADERS and waited > self.limits.header_seconds:
            self.say(408, f"no whole headers came within {self.limits.header_seconds:g} seconds")
        elif phase == IDLE and waited > self.limits.idle_seconds:
            self.transport.close()
        elif phase == WRITING:
            if now - self.stuck_since > self.limits.write_seconds:
                self.cut()
        elif phase in (REFUSED, CLOSING):
            if waited > LINGER:
                self.cut()
        elif phase == BODY and waited > self.limits.body_seconds + LINGER:
            self.cut()  # the application should have answered

    def say(self, code: int, error: str, *, is_sending: bool = False) -> None:
        """Answer outside of any request, and close; slowly if the client may be sending more."""
        if self.exchange is not None and not self.exchange.is_answered:
            self.exchange.left()
            if self.exchange.is_begun:  # nothing can be said in the middle of an answer
                self.cut()
                return
        content = orjson.dumps({"error": readable(error)})
        head = f"HTTP/1.1 {code} \r\ncontent-type: application/json\r\nconnection: close\r\n"
        length = f"content-length: {len(content)}\r\n\r\n"
        self.since = self.loop.time()
        self.held = b""
        self.transport.write((head + length).encode() + content)
        self._close(is_sending=is_sending)

    def _go_on(self) -> None:
        """Parse what came, up to the end of a request: what is behind it waits for its answer."""
        data, self.held = self.held, b""
        at = 0
        while at < len(data) and self.phase != CLOSING:
            exchange = self.exchange
            if exchange and not (exchange.is_answered or self.frame.is_inside):
                self.held = data[at:]
                break
            try:
                at += self.frame.feed(data, at)
            except httptools.HttpParserError as error:
                self.say(*refusal(error), is_sending=True)
        if self.held or (self.exchange is not None and self.exchange.body and self.phase == BODY):
            self._pause()  # until there was an answer, or the application asks for more
        else:
            self.read_on()

    def _close(self, *, is_sending: bool) -> None:
        """Close the connection when all is written.

        If more comes meanwhile, the system would tell the client that it is broken, which may then
        not read why: so it is taken, for a while, and let go of.
        """
        if not is_sending:
            self.transport.close()
        elif not self.transport.is_closing():
            self.is_over = True
            self.held = b""
            self.transport.write_eof()
            self.read_on()

    def _pause(self) -> None:
        if not self.is_paused and not self.transport.is_closing():
            self.is_paused = True
            self.transport.pause_reading()


def _address(given: Any) -> tuple[str, int] | None:
    """Return an address as ASGI has it."""
    return (str(given[0]), int(given[1])) if isinstance(given, tuple) else None
