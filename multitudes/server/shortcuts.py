"""The short way to what is asked most, ahead of the framework's routes.

Routing, and the objects that a framework makes of a request, cost more than the model: what goes
this way takes a third of the time. A route does the same the long way, and describes it.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod

from starlette.types import ASGIApp, Receive, Scope, Send

from multitudes.errors import MultitudesError
from multitudes.server.answers import PIECE, Pieces
from multitudes.server.context import Context
from multitudes.server.leaving import Leaving, leaving
from multitudes.server.refusals import GoneError, as_answer

logger = logging.getLogger("multitudes.server")

JSON = (b"content-type", b"application/json")


class Shortcut(ABC):
    """An ASGI layer that answers POST requests at some addresses, and hands on all others.

    Parameters
    ----------
    app : ASGI application
    context : Context
    """

    def __init__(self, app: ASGIApp, *, context: Context) -> None:
        self.app = app
        self.context = context

    @abstractmethod
    def takes(self, path: str) -> bool:
        """Whether an address is one of those that are answered here."""

    @abstractmethod
    async def answer(self, path: str, content_type: str, body: bytes, gone: Leaving) -> bytes:
        """Return the bytes of the answer."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["method"] != "POST" or not self.takes(scope["path"]):
            await self.app(scope, receive, send)
            return
        try:
            content = await self._found(scope, receive)
        except Exception as error:
            if not isinstance(error, (MultitudesError, MemoryError)):
                logger.exception("a request for labels failed")
            await as_answer(error)(scope, receive, send)
            return
        if len(content) > PIECE:
            await Pieces(content, self.context.room)(scope, receive, send)
            return
        headers = [JSON, (b"content-length", b"%d" % len(content))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    async def _found(self, scope: Scope, receive: Receive) -> bytes:
        given = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
        message = await receive()
        if message["type"] != "http.request":
            raise GoneError("the client left")
        # The body goes with the call, and is not kept here: an answer may wait long for the model.
        return await self.answer(
            scope["path"], given.decode("latin-1"), message.pop("body"), leaving(scope, receive)
        )
