"""Annif's REST API, for programs that speak it: every model is a project."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
from fastapi import APIRouter, FastAPI, Request
from pydantic import BaseModel
from starlette.responses import Response

from multitudes.server.annif import messages, suggesting
from multitudes.server.annif.forms import FORM
from multitudes.server.annif.languages import detected
from multitudes.server.annif.learning import keep
from multitudes.server.annif.problems import PROBLEM, NotAllowedError
from multitudes.server.annif.projects import (
    described_project,
    described_vocabulary,
    found_project,
)
from multitudes.server.answers import Pieces, check_characters
from multitudes.server.context import Context
from multitudes.server.leaving import Leaving, leaving
from multitudes.server.reading import checked
from multitudes.server.work import Job
from multitudes.version import __version__

JSON = "application/json"
TITLE = "Annif REST API, by multitudes"
PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"content": {PROBLEM: {"schema": messages.Problem.model_json_schema()}}}
    for code in (400, 401, 403, 404, 405, 408, 413, 415, 429, 500, 503, 507)
}


def add(app: FastAPI, context: Context) -> None:
    """Add the addresses of Annif."""
    router = APIRouter(prefix="/v1", tags=["Annif"], responses=PROBLEMS)
    _add_about(router, context)
    _add_suggest(router, context)
    _add_learn(router, context)
    _add_detection(router, context)
    app.include_router(router)


def _add_about(router: APIRouter, context: Context) -> None:
    models, vocabularies = context.models, context.vocabularies

    @router.get("/")
    @router.head("/", include_in_schema=False)
    async def info() -> messages.ApiInfo:
        """Who answers."""
        return messages.ApiInfo(title=TITLE, version=__version__)

    @router.get("/projects")
    @router.head("/projects", include_in_schema=False)
    async def projects() -> messages.Projects:
        """All models, as projects."""
        found = [described_project(served, vocabularies.of(served.name)) for served in models]
        return messages.Projects(projects=found)

    @router.get("/projects/{project_id}")
    @router.head("/projects/{project_id}", include_in_schema=False)
    async def project(project_id: str) -> messages.Project:
        """One of them."""
        served = found_project(models, project_id)
        return described_project(served, vocabularies.of(served.name))

    @router.get("/vocabs")
    @router.head("/vocabs", include_in_schema=False)
    async def vocabs() -> messages.Vocabularies:
        """What subjects are called."""
        found = {}
        for served in models:
            subjects = vocabularies.of(served.name)
            found[subjects.name] = described_vocabulary(served, subjects)
        return messages.Vocabularies(vocabs=list(found.values()))


def _add_suggest(router: APIRouter, context: Context) -> None:
    @router.post(
        "/projects/{project_id}/suggest",
        response_model=messages.Suggestions,
        openapi_extra=_body(messages.Suggest, FORM),
    )
    async def suggest(request: Request, project_id: str) -> Response:
        """Subjects of a text."""
        found = await suggesting.suggest(context, project_id, *(await _sent(request)))
        return Pieces(found, context.room)

    @router.post(
        "/projects/{project_id}/suggest-batch",
        response_model=list[messages.DocumentSuggestions],
        openapi_extra=_body(messages.SuggestBatch) | _query(messages.Options),
    )
    async def suggest_batch(request: Request, project_id: str) -> Response:
        """Subjects of several texts."""
        options = checked(dict(request.query_params), messages.Options)
        sent = _sent(request)
        found = await suggesting.suggest_batch(context, project_id, options, *(await sent))
        return Pieces(found, context.room)


async def _sent(request: Request) -> tuple[str, bytes, Leaving]:
    """Return the type and the body of a request, and what tells that its client leaves."""
    content_type, body = request.headers.get("content-type", ""), await request.body()
    request._body = b""  # it would be kept for as long as the request waits for the model
    return content_type, body, leaving(request.scope, request.receive)


def _add_learn(router: APIRouter, context: Context) -> None:
    @router.post(
        "/projects/{project_id}/learn",
        status_code=204,
        response_class=Response,
        openapi_extra=_body(messages.Learn),
    )
    async def learn(request: Request, project_id: str) -> Response:
        """Keep texts and their subjects as corrections, which `multitudes update` takes."""
        served = found_project(context.models, project_id)
        documents = (await context.reader.read(request, messages.Learn)).root
        check_characters(sum(len(document.text or "") for document in documents), context.limits)
        if context.corrections is None:
            raise NotAllowedError(
                "this server keeps no corrections: start it with --corrections FILE to have it "
                "learn"
            )
        subjects = context.vocabularies.of(served.name)
        await asyncio.to_thread(keep, documents, served, subjects, context.corrections)
        return Response(status_code=204)


def _add_detection(router: APIRouter, context: Context) -> None:
    @router.post(
        "/detect-language",
        response_model=messages.DetectedLanguages,
        openapi_extra=_body(messages.DetectLanguage),
    )
    async def detect_language(request: Request) -> Response:
        """Which of some languages a text is in."""
        asked = await context.reader.read(request, messages.DetectLanguage)
        check_characters(len(asked.text), context.limits)

        def answer(_: Job) -> bytes:
            found = detected(asked.text, asked.languages)
            return orjson.dumps({"results": [{"language": a, "score": b} for a, b in found]})

        return await context.answered(request, answer)


def _body(kind: type[BaseModel], media_type: str = JSON) -> dict[str, Any]:
    """Describe the body of requests, which we read ourselves."""
    content = {media_type: {"schema": _schema(kind)}}
    return {"requestBody": {"required": True, "content": content}}


def _query(kind: type[BaseModel]) -> dict[str, Any]:
    """Describe what may stand behind the question mark of an address."""
    described = _schema(kind)["properties"].items()
    found = [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in described
    ]
    return {"parameters": found}


def _schema(kind: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a message, with those of its parts inside."""
    schema = kind.model_json_schema()
    parts = schema.pop("$defs", {})

    def inlined(value: Any) -> Any:
        if isinstance(value, list):
            return [inlined(one) for one in value]
        if not isinstance(value, dict):
            return value
        if "$ref" in value:
            return inlined(parts[value["$ref"].rpartition("/")[2]])
        return {name: inlined(one) for name, one in value.items()}

    found: dict[str, Any] = inlined(schema)
    return found
