"""How the server is: answered at once, whatever the models are doing."""

from __future__ import annotations

import asyncio
from importlib import resources

from fastapi import FastAPI
from starlette.responses import JSONResponse, PlainTextResponse, Response

from multitudes.server.context import Context
from multitudes.server.messages import StatusAnswer
from multitudes.server.refusals import BusyError, NotFoundError

OWN_ALONE = {"content-security-policy": "default-src 'self' 'unsafe-inline'"}
DOCS = resources.files("multitudes.server.routes") / "docs.html"


def add(app: FastAPI, context: Context) -> None:
    """Add /health, /ready, /metrics, and what describes all addresses to people."""
    work = context.work

    @app.get("/health", response_model=StatusAnswer)
    @app.head("/health", include_in_schema=False)
    async def health() -> Response:
        """Whether the server is up."""
        return JSONResponse({"status": "ok"})

    @app.get("/ready", response_model=StatusAnswer)
    @app.head("/ready", include_in_schema=False)
    async def ready() -> Response:
        """Whether a request for tags would be taken: 503 if too many wait, or the server stops."""
        if work.is_full:
            raise BusyError("no more requests are taken now: try again in a moment")
        return JSONResponse({"status": "ready"})

    @app.get(
        "/metrics",
        response_class=PlainTextResponse,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def metrics() -> Response:
        """Numbers about the server, for Prometheus."""
        if not context.metrics.is_on:
            raise NotFoundError(
                "nothing is measured: pip install prometheus-client, and start the server again"
            )
        content, kind = await asyncio.to_thread(context.metrics.text)
        return Response(content, media_type=kind)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        """All addresses, described for people; made of /openapi.json."""
        return Response(DOCS.read_bytes(), media_type="text/html", headers=OWN_ALONE)
