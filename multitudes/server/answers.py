"""What the model is asked for a request, step by step, and the bytes of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from multitudes.server.bodies import Room
from multitudes.server.limits import Limits
from multitudes.server.messages import ExplainRequest, PredictRequest
from multitudes.server.reading import too_long
from multitudes.server.refusals import BusyError, TooLargeError, as_answer
from multitudes.server.work import Job, Texts
from multitudes.tagger import Tagger
from multitudes.tagger.insight import highlights
from multitudes.tagger.tags import Tag

PIECE = 64 * 1024  # bytes handed to a connection before it has sent the last ones


def check_size(request: PredictRequest, limits: Limits) -> None:
    """Refuse a request that is beyond the limits."""
    check_count(len(request.texts), limits)
    check_characters(sum(map(len, request.texts)), limits)
    if request.top_k is not None and request.top_k > limits.max_top_k:
        raise TooLargeError(f"top_k is at most {limits.max_top_k:,}, got {request.top_k:,}")


def check_count(n: int, limits: Limits) -> None:
    """Refuse too many texts."""
    if n > limits.max_texts:
        raise TooLargeError(
            f"the request has {n:,} texts, at most {limits.max_texts:,} are taken at once: send "
            "several requests"
        )


def check_characters(n: int, limits: Limits) -> None:
    """Refuse texts that are too long."""
    if n > limits.max_characters:
        raise too_long(f"{n:,}", limits)


def predict_job(tagger: Tagger, request: PredictRequest) -> Texts:
    """Return the job that finds the bytes of each entry of a `PredictAnswer`."""
    return Texts(
        tagger,
        request.texts,
        partial(_entry, tagger.titles_),
        kind=request.kind,
        top_k=request.top_k,
        threshold=request.threshold,
    )


def predict_answer(entries: list[bytes]) -> bytes:
    """Return the bytes of a `PredictAnswer`."""
    return b'{"predictions":[' + b",".join(entries) + b"]}"


def explain_answer(tagger: Tagger, request: ExplainRequest, job: Job) -> bytes:
    """Return the bytes of an `ExplainAnswer`."""
    job.go_on()
    found = tagger.explain(request.text, request.label)
    content = {
        "explanation": found.to_dict(),
        "table": found.table(),
        "words": [asdict(word) for word in highlights(tagger, request.text, found)],
    }
    return orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)


def _entry(titles: dict[str, str], tags: Sequence[Tag]) -> bytes:
    """Return the bytes of a text's labels."""
    if not titles:
        return orjson.dumps({"labels": [{"label": tag[0], "score": tag[1]} for tag in tags]})
    labels = [
        {"label": tag.label, "score": tag.score}
        | ({"title": titles[tag.label]} if tag.label in titles else {})
        for tag in tags
    ]
    return orjson.dumps({"labels": labels})


class Pieces(Response):
    """An answer that is handed over piece by piece, as fast as its client takes it."""

    media_type = "application/json"

    def __init__(self, content: bytes, room: Room) -> None:
        super().__init__(content)
        self.room = room

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, or that there is no room to hold it for as long as that takes."""
        n = len(self.body)
        try:
            self.room.take(n)
        except BusyError as error:
            await as_answer(error)(scope, receive, send)
            return
        try:
            start = {"status": self.status_code, "headers": self.raw_headers}
            await send({"type": "http.response.start", **start})
            for at in range(0, max(n, 1), PIECE):
                piece = bytes(self.body[at : at + PIECE])
                await send(
                    {"type": "http.response.body", "body": piece, "more_body": at + PIECE < n}
                )
        finally:
            self.room.give(n)
