"""Texts in, labels out, and why: /v1/predict and /v1/explain."""

from __future__ import annotations

from functools import partial

from fastapi import FastAPI, Request
from starlette.responses import Response

from multitudes.server.answers import (
    Pieces,
    check_characters,
    check_size,
    explain_answer,
    predict_answer,
    predict_job,
)
from multitudes.server.context import Context
from multitudes.server.leaving import leaving
from multitudes.server.messages import ExplainAnswer, ExplainRequest, PredictAnswer, PredictRequest


def add(app: FastAPI, context: Context) -> None:
    """Add the addresses that ask a model about texts."""
    limits, body = context.limits, context.body

    @app.post("/v1/predict", response_model=PredictAnswer, openapi_extra=body(PredictRequest))
    async def predict(request: Request) -> Response:
        """Labels of texts."""
        asked = await context.reader.read(request, PredictRequest)
        check_size(asked, limits)
        job = predict_job(context.models.get(asked.model).tagger, asked)
        entries = await context.work.result_of(job, gone=leaving(request.scope, request.receive))
        return Pieces(predict_answer(entries), context.room)

    @app.post("/v1/explain", response_model=ExplainAnswer, openapi_extra=body(ExplainRequest))
    async def explain(request: Request) -> Response:
        """What is behind the score of a label."""
        asked = await context.reader.read(request, ExplainRequest)
        check_characters(len(asked.text), limits)
        tagger = context.models.get(asked.model).tagger
        return await context.answered(request, partial(explain_answer, tagger, asked))
