"""The outermost layer of the application: each request gets an id, is timed, counted and logged.

It also answers what nobody else has answered: a bug is an answer in the one form of all refusals.
"""

from __future__ import annotations

import itertools
import logging
import re
import secrets
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from multitudes.server.refusals import refused
from multitudes.server.watching.lines import Lines
from multitudes.server.watching.metrics import Metrics

REQUEST_ID = b"x-request-id"
AHEAD = frozenset({"/v1/predict"})  # answered before the framework has found their route
_SANE = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,127}")
_log = logging.getLogger("multitudes.server")


class Watched:
    """Watches requests.

    Parameters
    ----------
    app : ASGI application
    metrics : Metrics
    lines : Lines
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics, lines: Lines) -> None:
        self.app = app
        self.metrics = metrics
        self.lines = lines
        self._prefix = secrets.token_hex(4)
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = time.perf_counter()
        given = next((value for name, value in scope["headers"] if name == REQUEST_ID), None)
        if given is None or not _SANE.fullmatch(given):
            given = f"{self._prefix}-{next(self._numbers):x}".encode()
        scope["request_id"] = given.decode()
        status = 0

        async def telling(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (REQUEST_ID, given)]
            await send(message)

        try:
            await self.app(scope, receive, telling)
        except Exception as error:
            _log.exception("request %s failed", scope["request_id"])
            if status:
                raise  # half of an answer is gone
            answer = refused(500, f"unexpected error: {type(error).__name__}: {error}")
            await answer(scope, receive, telling)
        finally:
            self._note(scope, status or 499, time.perf_counter() - begun)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        self.metrics.answered(address_of(scope), status, seconds)
        if self.lines:
            client = scope.get("client") or ("-",)
            self.lines.add(
                level="info",
                request_id=scope["request_id"],
                client=client[0],
                key=scope.get("key"),
                method=scope["method"],
                path=scope["path"],
                status=status,
                seconds=round(seconds, 6),
            )


def address_of(scope: Scope) -> str:
    """Return the address that answered a request, of which there are not many."""
    found = getattr(scope.get("route"), "path", None)
    if found is None and scope["path"] in AHEAD:
        return str(scope["path"])
    return "other" if found is None else str(found)
