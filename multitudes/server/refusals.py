"""Errors that are answers: each has the code of HTTP that says whose it is, and what to do."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from starlette.responses import Response

from multitudes.errors import ConfigError, MultitudesError, ResourceError

RETRY = {"retry-after": "1"}
CLOSE = {"connection": "close"}
LONGEST = 1000  # characters of a message


class RefusedError(MultitudesError):
    """A request that is not answered as asked."""

    code = 400
    headers: Mapping[str, str] = {}


class NotUnderstoodError(RefusedError):
    """A request that is not what the address takes."""

    code = 422


class NotFoundError(RefusedError):
    """What a request names is not here."""

    code = 404


class TooLargeError(RefusedError, ConfigError):
    """A request asks for more than the server gives at once."""

    code = 413


class TooSlowError(RefusedError):
    """A client did not send its request in time."""

    code = 408
    headers = CLOSE


class BadFrameError(RefusedError):
    """A request whose length or host cannot be trusted: nothing after it is read."""

    headers = CLOSE


class BusyError(RefusedError):
    """The server has no room for a request now, or no time left for it."""

    code = 503
    headers = RETRY


class FullError(RefusedError):
    """There is no more room on the disk, or in a file."""

    code = 507


class QueueFullError(BusyError):
    """Too many requests wait already."""

    code = 429


class GoneError(RefusedError):
    """The client has left; nobody reads this."""

    code = 499


def refused(code: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the one form of all refusals: ``{"error": ...}``."""
    content = orjson.dumps({"error": readable(message)})
    return Response(content, code, dict(headers or {}), media_type="application/json")


def as_answer(error: Exception) -> Response:
    """Return what a client is told about an error."""
    if isinstance(error, MemoryError):
        error = BusyError("the server is out of memory: send fewer texts at once")
    if not isinstance(error, MultitudesError):
        return refused(500, f"unexpected error: {type(error).__name__}: {error}")
    if isinstance(error, RefusedError):
        return refused(error.code, str(error), error.headers)
    if isinstance(error, ResourceError):
        return refused(503, str(error), RETRY)
    return refused(400, str(error))


def readable(message: str) -> str:
    """Return a message that can be sent: some quote at length, or what cannot be encoded."""
    cut = message if len(message) <= LONGEST else message[:LONGEST] + " ..."
    return cut.encode("utf-8", "replace").decode()
