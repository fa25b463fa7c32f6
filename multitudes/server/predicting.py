"""The short way to labels of texts: POST /v1/predict."""

from __future__ import annotations

from functools import partial

from multitudes.server.answers import check_size, predict_answer, predict_job
from multitudes.server.leaving import Leaving
from multitudes.server.messages import PredictRequest
from multitudes.server.reading import check_type, parsed
from multitudes.server.shortcuts import Shortcut

PATH = "/v1/predict"


class Predicting(Shortcut):
    """Answers requests for labels, as the route in `multitudes.server.routes.tagging` does."""

    def takes(self, path: str) -> bool:
        """Whether labels are asked for."""
        return path == PATH

    async def answer(self, path: str, content_type: str, body: bytes, gone: Leaving) -> bytes:
        """Return the bytes of a `PredictAnswer`."""
        context = self.context
        check_type(content_type)
        read = partial(parsed, kind=PredictRequest, limits=context.limits)
        asked = await context.reader.made(body, read)
        del body
        check_size(asked, context.limits)
        job = predict_job(context.models.get(asked.model).tagger, asked)
        return predict_answer(await context.work.result_of(job, gone=gone))
