"""The page for people, at /, its files, and the text of a PDF that is dropped on it."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import orjson
from fastapi import FastAPI, Request
from pydantic import BaseModel
from starlette.responses import Response

from multitudes.server.answers import Pieces
from multitudes.server.context import Context
from multitudes.server.leaving import leaving
from multitudes.server.pdf import PdfReader
from multitudes.server.refusals import NotFoundError, NotUnderstoodError

FOLDER = Path(__file__).resolve().parents[1] / "page"
MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
SETTINGS = "settings.json"  # what the page must know about this server before it asks anything
# The page needs its own files and its own server, and no text can become a script.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",  # ask whether it is still the same: models and pages change
}
PDF_SECONDS = 20.0
PDF = {"application/pdf", "application/octet-stream"}  # forms of other sites' pages send neither


class TextAnswer(BaseModel):
    """What a file says."""

    text: str


@dataclass(frozen=True)
class PageFile:
    """A file of the page, as it is sent."""

    content: bytes
    media: str
    etag: str

    @classmethod
    def of(cls, content: bytes, suffix: str) -> PageFile:
        """Return a file with this content."""
        return cls(content, MEDIA[suffix], f'"{hashlib.sha256(content).hexdigest()[:16]}"')

    def answer(self, request: Request) -> Response:
        """Return it, or that the client has it already."""
        headers = {**HEADERS, "etag": self.etag}
        if request.headers.get("if-none-match") == self.etag:
            return Response(status_code=304, headers=headers)
        return Response(self.content, headers=headers, media_type=self.media)


def add(app: FastAPI, context: Context) -> None:
    """Add the page, its files and /v1/text."""
    files = {
        path.relative_to(FOLDER).as_posix(): PageFile.of(path.read_bytes(), path.suffix)
        for path in sorted(FOLDER.rglob("*"))
        if path.suffix in MEDIA
    }
    files[SETTINGS] = PageFile.of(settings(context), ".json")
    limits = context.limits
    pdf = PdfReader(
        max_characters=limits.max_characters, seconds=min(PDF_SECONDS, limits.answer_seconds)
    )

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def page(request: Request) -> Response:
        return files["index.html"].answer(request)

    @app.api_route("/static/{name:path}", methods=["GET", "HEAD"], include_in_schema=False)
    async def file(request: Request, name: str) -> Response:
        if name not in files:  # names are looked up, never paths
            raise NotFoundError("the page has no such file: its address is /")
        return files[name].answer(request)

    content = {"application/pdf": {"schema": {"type": "string", "format": "binary"}}}
    body = {"requestBody": {"required": True, "content": content}}

    @app.post("/v1/text", response_model=TextAnswer, openapi_extra=body)
    async def text(request: Request) -> Response:
        """Text of a PDF, sent as it is."""
        given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if given not in PDF:
            raise NotUnderstoodError(
                "the request does not say that it is a PDF: add the header content-type: "
                "application/pdf"
            )
        content = await request.body()
        has_left = asyncio.Event()
        stay = leaving(request.scope, request.receive)(has_left.set)
        try:
            found = await pdf.text(
                content, is_over=lambda: has_left.is_set() or context.work.stopped
            )
        finally:
            stay()
        return Pieces(orjson.dumps({"text": found}), context.room)


def settings(context: Context) -> bytes:
    """Return what the page may ask of this server."""
    limits = context.limits
    return orjson.dumps(
        {
            "corrections": context.corrections is not None,
            "pdf": find_spec("pypdf") is not None,
            "max_body": limits.max_body,
            "max_characters": limits.max_characters,
            "max_texts": limits.max_texts,
            "max_top_k": limits.max_top_k,
        }
    )
