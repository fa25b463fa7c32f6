"""The HTTP application: it translates requests into calls of a Tagger, and holds no logic."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from multitudes.data.vocabularies.subjects import Vocabularies
from multitudes.errors import MultitudesError
from multitudes.server.access.access import Access, Door
from multitudes.server.annif.problems import Problems
from multitudes.server.annif.suggesting import Suggesting
from multitudes.server.bodies import Room, WholeBodies
from multitudes.server.context import Context
from multitudes.server.corrections import Corrections
from multitudes.server.limits import Limits
from multitudes.server.messages import ErrorAnswer
from multitudes.server.models import Models
from multitudes.server.predicting import Predicting
from multitudes.server.reading import Reader
from multitudes.server.refusals import BusyError, as_answer, refused
from multitudes.server.routes import about, annif, labels, models, page, tagging
from multitudes.server.routes import corrections as correcting
from multitudes.server.watching import Lines, Metrics, Watched
from multitudes.server.work import Work
from multitudes.tagger import Tagger
from multitudes.version import __version__

REFUSED: dict[int | str, dict[str, Any]] = {
    code: {"model": ErrorAnswer}
    for code in (400, 401, 403, 404, 405, 408, 413, 422, 429, 500, 503, 507)
}
ROUTES = (about, models, tagging, labels, correcting, annif, page)


class App(FastAPI):
    """FastAPI behind our own layers: what they answer themselves is spared its."""

    _layers: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if self._layers is None:
            ours, self.user_middleware = self.user_middleware, []
            self._layers = super().__call__
            for layer in reversed(ours):
                self._layers = layer.cls(self._layers, *layer.args, **layer.kwargs)
        await self._layers(scope, receive, send)


def make_app(
    given: Tagger | Mapping[str, Tagger] | Models,
    *,
    limits: Limits = Limits(),
    hosts: Collection[str] | None = None,
    vocabularies: Vocabularies = Vocabularies(),
    corrections: str | PathLike[str] | None = None,
    access: Access = Access(),
    log: str = "none",
) -> FastAPI:
    """Return the application that serves fitted taggers.

    Time for headers, idle connections and their number are the ASGI server's to limit, as `serve`
    does; the application holds all other limits.

    Parameters
    ----------
    given : Tagger, mapping of names to Taggers, or Models
        Requests take turns with them; the first is asked if a request names none.
    limits : Limits
    hosts : collection of str, optional
        Names by which clients may address the server, beside numeric addresses; by default any.
    vocabularies : Vocabularies
        What labels are called at Annif's addresses; models' own titles by default.
    corrections : path, optional
        The file that corrections are appended to; by default none are taken.
    access : Access
        Who may ask; by default everybody.
    log : {"none", "text", "json"}
        How a line for each request is written to stderr.
    """
    served = Models.of(given)
    work = Work(max_waiting=limits.max_waiting, seconds=limits.answer_seconds)
    metrics, lines = Metrics(served, lambda: work.n_waiting), Lines(log)
    context = Context(
        models=served,
        limits=limits,
        work=work,
        metrics=metrics,
        reader=Reader(limits),
        room=Room(limits.max_held),
        vocabularies=vocabularies,
        corrections=None
        if corrections is None
        else Corrections(Path(corrections), max_bytes=limits.max_corrections),
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        lines.start()
        context.work.start()
        yield
        context.work.stop()
        lines.stop()
        context.reader.close()

    app = App(
        title="multitudes",
        version=__version__,
        responses=REFUSED,
        lifespan=lifespan,
        docs_url=None,  # it would load scripts from elsewhere; ours is in routes/about.py
        redoc_url=None,
    )
    app.state.context, app.state.work, app.state.room = context, context.work, context.room
    app.state.lines = lines
    work.watch = metrics.watch
    app.add_middleware(Predicting, context=context)
    app.add_middleware(Suggesting, context=context)
    app.add_middleware(WholeBodies, limits=limits, room=context.room, hosts=hosts)
    app.add_middleware(Door, access=access)
    app.add_middleware(Problems)
    app.add_middleware(Watched, metrics=metrics, lines=lines)  # the last one is the outermost
    _answer_errors(app)
    for routes in ROUTES:
        routes.add(app, context)
    return app


def _answer_errors(app: FastAPI) -> None:
    """Answer every error with ``{"error": ...}`` and a code that says whose it is."""

    @app.exception_handler(HTTPException)
    async def refused_by_the_framework(request: Request, error: HTTPException) -> Response:
        path, headers = request.url.path, dict(error.headers or {})
        if error.status_code == 404:
            return refused(404, f"there is nothing at {path}: /docs lists what there is")
        if error.status_code == 405:
            allowed = headers.get("Allow", "another method")
            return refused(405, f"{path} does not take {request.method}: use {allowed}", headers)
        return refused(error.status_code, str(error.detail), headers)

    @app.exception_handler(RequestValidationError)
    async def misunderstood(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part)[:100] for part in first["loc"][1:]) or "the request"
        return refused(422, f"{where}: {first['msg']}")

    @app.exception_handler(MultitudesError)
    async def known(_: Request, error: MultitudesError) -> Response:
        return as_answer(error)

    @app.exception_handler(MemoryError)
    async def out_of_memory(_: Request, error: MemoryError) -> Response:
        return as_answer(BusyError("the server is out of memory: send fewer texts at once"))

    @app.exception_handler(Exception)
    async def unknown(_: Request, error: Exception) -> Response:
        return refused(500, f"unexpected error: {type(error).__name__}: {error}")
