"""What all addresses of a server share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from multitudes.data.vocabularies.subjects import Vocabularies
from multitudes.server.answers import Pieces
from multitudes.server.bodies import Room
from multitudes.server.corrections import Corrections
from multitudes.server.leaving import leaving
from multitudes.server.limits import Limits
from multitudes.server.messages import Message
from multitudes.server.models import Models
from multitudes.server.reading import Reader
from multitudes.server.watching import Metrics
from multitudes.server.work import Job, Work


@dataclass(frozen=True)
class Context:
    """The models, and what stands between them and requests.

    Parameters
    ----------
    models : Models
    limits : Limits
    work : Work
        Where models are asked.
    reader : Reader
        Reads bodies of requests.
    room : Room
        Counts what requests and answers hold.
    metrics : Metrics
        Counts what is done.
    vocabularies : Vocabularies
        What labels are called at Annif's addresses.
    corrections : Corrections, optional
        Where corrections are kept; by default they are not.
    """

    models: Models
    limits: Limits
    work: Work
    reader: Reader
    room: Room
    metrics: Metrics
    vocabularies: Vocabularies
    corrections: Corrections | None = None

    async def answered(self, request: Request, function: Callable[[Job], bytes]) -> Response:
        """Return the answer whose bytes a function finds when its turn has come."""
        gone = leaving(request.scope, request.receive)
        return Pieces(await self.work.do(function, gone=gone), self.room)

    def body(self, kind: type[Message]) -> dict[str, Any]:
        """Describe the body of requests, which we read ourselves, with the limits."""
        schema = kind.model_json_schema()
        for name, field in schema["properties"].items():
            if name == "texts":
                field["maxItems"] = self.limits.max_texts
            elif name == "top_k":
                field["anyOf"][0]["maximum"] = self.limits.max_top_k
        content = {"application/json": {"schema": schema}}
        return {"requestBody": {"required": True, "content": content}}
