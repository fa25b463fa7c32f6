"""What people made of predictions: /v1/corrections, if a file for them was given."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import FastAPI, Query, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from multitudes.data.predictions.corrections import Correction
from multitudes.server.answers import check_characters
from multitudes.server.context import Context
from multitudes.server.corrections import Corrections
from multitudes.server.messages import (
    CorrectionRequest,
    CorrectionsAnswer,
    CorrectionsAsked,
    KeptAnswer,
)
from multitudes.server.refusals import NotFoundError

LINES = "application/x-ndjson"


def add(app: FastAPI, context: Context) -> None:
    """Add what keeps, lists and exports corrections."""

    @app.post(
        "/v1/corrections",
        status_code=201,
        response_model=KeptAnswer,
        openapi_extra=context.body(CorrectionRequest),
    )
    async def keep(request: Request) -> Response:
        """Keep a correction: the answer comes when it is on the disk."""
        corrections = kept_in(context)
        asked = await context.reader.read(request, CorrectionRequest)
        check_characters(len(asked.text), context.limits)
        correction = corrected(asked, context)
        number = await asyncio.to_thread(corrections.append, correction)
        return JSONResponse({"id": number, "uid": correction.uid, "time": correction.time}, 201)

    @app.get("/v1/corrections", response_model=CorrectionsAnswer)
    async def listed(asked: Annotated[CorrectionsAsked, Query()]) -> Response:
        """Corrections in the order in which they came."""
        page = await asyncio.to_thread(
            kept_in(context).page, after=asked.after, limit=asked.limit, newest=asked.newest
        )
        return JSONResponse(page._asdict())

    @app.get(
        "/v1/corrections/export",
        response_class=StreamingResponse,
        responses={200: {"content": {LINES: {"schema": {"type": "string"}}}}},
    )
    async def export() -> Response:
        """All corrections as JSON lines, which `multitudes update` takes."""
        named = {"content-disposition": 'attachment; filename="corrections.jsonl"'}
        return StreamingResponse(kept_in(context).export(), media_type=LINES, headers=named)


def kept_in(context: Context) -> Corrections:
    """Return where corrections are kept, or say how to keep them."""
    if context.corrections is None:
        raise NotFoundError(
            "this server keeps no corrections: start it with --corrections FILE to do so"
        )
    return context.corrections


def corrected(asked: CorrectionRequest, context: Context) -> Correction:
    """Return the correction that a request brings."""
    served = context.models.get(asked.model)
    return Correction(
        asked.text,
        accepted=tuple(dict.fromkeys(asked.accepted)),
        rejected=tuple(dict.fromkeys(asked.rejected)),
        added=tuple(dict.fromkeys(asked.added)),
        model=served.name,
        version=served.version,
        uid=asked.uid or "",
    )
