"""The server: it accepts connections, looks after them, and comes to an end whatever they do."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType
from typing import Any

import uvicorn

from multitudes.server.http.connections import Connection
from multitudes.server.limits import Limits
from multitudes.server.work import Work

AT_ONCE = 4  # connections accepted in one turn of the event loop
BACKLOG = 1024  # connections that the system keeps until they are accepted
LOOK_EVERY = 0.2  # seconds between two looks for clients that take too long
QUIET = 0.5  # seconds for requests that are on their way when the server is told to end
LAST_WORDS = 0.5  # seconds for those that are told that the server stops
SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
SENT_TWICE = 0.2  # seconds in which a second signal adds nothing: some programs send two


class Server(uvicorn.Server):
    """uvicorn with connections that have limits, and an end that comes whatever clients do.

    Parameters
    ----------
    app : ASGI application
    work : Work
        What the application waits for.
    limits : Limits
    log_level : str
    started, closed : function
        Called when connections are accepted, and when no more are.
    """

    def __init__(
        self,
        app: Any,
        work: Work,
        limits: Limits,
        *,
        log_level: str = "warning",
        started: Callable[[], None] = lambda: None,
        closed: Callable[[], None] = lambda: None,
    ) -> None:
        protocol: Any = partial(Connection, limits=limits)
        config = uvicorn.Config(
            app,
            http=protocol,
            ws="none",  # a connection that changes its protocol would leave the limits behind
            log_level=log_level,
            loop="auto",  # uvloop, where there is one
            backlog=AT_ONCE,
            proxy_headers=False,
            access_log=False,
            timeout_keep_alive=max(1, int(limits.idle_seconds)),
            server_header=False,
        )
        super().__init__(config)
        self.work = work
        self.limits = limits
        self.answered_all = True
        self._started = started
        self._closed = closed
        self.told_at = 0.0  # when it was told to end

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept connections, and to look after them."""
        await super().startup(sockets=sockets)
        for listening in sockets or []:
            listening.listen(BACKLOG)  # more than are accepted at once
        self._looking = asyncio.create_task(self._look())
        self._started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what was asked until the grace is over, then end."""
        ending = asyncio.create_task(self._end())
        await self._accept_last(sockets or [])
        self._closed()
        state = self.server_state
        for connection in state.connections:
            connection.shutdown()
        since = asyncio.get_running_loop().time()
        while (state.connections or state.tasks) and not self.force_exit:
            self._close_quiet(since)
            await asyncio.sleep(0.02)
        ending.cancel()
        self._looking.cancel()
        if not self.force_exit:
            await self.lifespan.shutdown()

    async def _accept_last(self, sockets: list[socket.socket]) -> None:
        """Take those who have connected already, and refuse all who come now."""
        loop = asyncio.get_running_loop()
        last: list[socket.socket] = []
        for listening in sockets:
            with suppress(OSError):  # there are no more
                while len(last) < BACKLOG:
                    last.append(listening.accept()[0])
        for server in self.servers:
            server.close()
        for listening in sockets:
            listening.close()
        for accepted in last:
            await loop.connect_accepted_socket(self._connection, accepted)

    def _connection(self) -> Connection:
        return Connection(self.config, self.server_state, self.lifespan.state, limits=self.limits)

    def _close_quiet(self, since: float) -> None:
        """Close connections over which no request comes: one may have been on its way."""
        now = asyncio.get_running_loop().time()
        quiet = min(QUIET, self.limits.grace_seconds)
        for connection in list(self.server_state.connections):
            waited = now - max(since, connection.since)  # type: ignore[union-attr]
            if waited > quiet and connection.is_quiet:  # type: ignore[union-attr]
                connection.transport.close()

    async def _look(self) -> None:
        """Close connections of clients that take too long, now and then."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(LOOK_EVERY)
            for number, connection in enumerate(list(self.server_state.connections)):
                if isinstance(connection, Connection):
                    connection.end_if_overdue(loop.time())
                if number % AT_ONCE == AT_ONCE - 1:
                    await asyncio.sleep(0)  # hundreds may be overdue: others have their turn

    async def _end(self) -> None:
        """Refuse what still waits when the grace is over, close what is open, and go."""
        await asyncio.sleep(self.limits.grace_seconds)
        self.answered_all = False
        self.work.stop()
        await asyncio.sleep(LAST_WORDS)
        for connection in list(self.server_state.connections):
            connection.cut()  # type: ignore[union-attr]
        await asyncio.sleep(LAST_WORDS)
        self.force_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take signals for as long as the server runs; they end it, and nothing else."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {sig: signal.getsignal(sig) for sig in SIGNALS}
        before = {sig: given for sig, given in before.items() if given is not signal.SIG_IGN}
        for sig in before:
            signal.signal(sig, self.handle_exit)
        try:
            yield
        finally:
            _last_resort(0)
            for sig, handler in before.items():
                signal.signal(sig, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end, or end at once if that was asked for already."""
        if self.should_exit:
            if time.monotonic() - self.told_at < SENT_TWICE:
                return
            with suppress(OSError, ValueError):
                sys.stderr.flush()
            os._exit(128 + sig)
        self.should_exit, self.told_at = True, time.monotonic()
        _last_resort(self.limits.grace_seconds + 10 * LAST_WORDS)


def _last_resort(seconds: float) -> None:
    """Have the system end the process after some time, even if it hangs; 0 to call that off."""
    if hasattr(signal, "setitimer"):
        if seconds:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)
