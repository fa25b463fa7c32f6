"""Errors in the form that Annif's clients expect, at Annif's addresses alone."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from multitudes.server.refusals import RefusedError

PROBLEM = "application/problem+json"
CODES = {422: 400}  # Annif does not tell what is malformed from what is wrong
ADDRESSES = ("/v1/projects", "/v1/vocabs", "/v1/detect-language")


class OtherTypeError(RefusedError):
    """A body is not of the kind that the address takes."""

    code = 415


class NotAllowedError(RefusedError):
    """Something that this server was not started for."""

    code = 403


class Problems:
    """Turns ``{"error": ...}`` into a problem of RFC 9457, which keeps that field.

    An ASGI layer around all others, since those refuse requests, too.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and is_annifs(scope["path"]):
            send = _Rewritten(send)
        await self.app(scope, receive, send)


class _Rewritten:
    """A `send` that holds refusals back until they are whole, and sends them as problems."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.start: Message | None = None
        self.body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] >= 400:
            self.start = message
        elif self.start is None:
            await self.send(message)
        else:
            self.body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._send_problem(self.start)

    async def _send_problem(self, start: Message) -> None:
        given: int = start["status"]
        status, headers, body = CODES.get(given, given), start["headers"], self.body
        error = _error_in(body)
        if error is not None:
            body = problem(status, error)
            replaced = {b"content-type": PROBLEM.encode(), b"content-length": b"%d" % len(body)}
            headers = [(name, value) for name, value in headers if name not in replaced]
            headers += replaced.items()
        await self.send({**start, "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})


def _error_in(body: bytes) -> str | None:
    """Return what a refusal says, if it has our form, as all of ours have."""
    try:
        error = orjson.loads(body)["error"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
    return error if isinstance(error, str) else None


def is_annifs(path: str) -> bool:
    """Whether an address is one of Annif's."""
    return any(path == one or path.startswith(one + "/") for one in ADDRESSES)


def problem(status: int, error: str) -> bytes:
    """Return the bytes of a problem."""
    try:
        title = HTTPStatus(status).phrase
    except ValueError:  # not a code that Python knows
        title = "Refused"
    content: dict[str, Any] = {"type": "about:blank", "title": title, "status": status}
    return orjson.dumps({**content, "detail": error, "error": error})
