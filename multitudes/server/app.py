"""The HTTP application: it translates requests into calls of a Tagger, and holds no logic."""

from __future__ import annotations

import threading
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from multitudes.errors import ConfigError, MultitudesError, ResourceError
from multitudes.server import Limits
from multitudes.server.messages import (
    ErrorAnswer,
    ExplainAnswer,
    ExplainRequest,
    Label,
    ModelAnswer,
    PredictAnswer,
    PredictRequest,
    Tagged,
)
from multitudes.tagger import Tagger, predict_tags
from multitudes.version import __version__

REFUSED: dict[int | str, dict[str, Any]] = {
    code: {"model": ErrorAnswer} for code in (400, 404, 405, 413, 422, 500, 503)
}


class TooLargeError(ConfigError):
    """A request asks for more than the server gives at once."""


def make_app(tagger: Tagger, *, limits: Limits = Limits()) -> FastAPI:
    """Return the application that serves a fitted tagger.

    Parameters
    ----------
    tagger : Tagger
        Requests take turns with it.
    limits : Limits
    """
    if not tagger.takes_texts_:
        raise ConfigError(
            "this Tagger was fitted on features, and requests bring texts: fit it on texts to "
            "serve it"
        )
    app = FastAPI(title="multitudes", version=__version__, responses=REFUSED)
    turn = threading.Lock()
    _answer_errors(app)

    @app.get("/health")
    def health() -> dict[str, str]:
        """Whether the server is up."""
        return {"status": "ok"}

    @app.get("/model")
    def model() -> ModelAnswer:
        """What is being served."""
        is_calibrated = tagger.calibrated_ is not None
        return ModelAnswer(
            model=type(tagger.model_).__name__,
            n_labels=len(tagger.classes_),
            has_probabilities=is_calibrated,
            has_sets=is_calibrated or tagger.generates_sets,
            version=__version__,
        )

    @app.post("/predict", response_model_exclude_none=True)
    def predict(request: PredictRequest) -> PredictAnswer:
        """Labels of texts."""
        check_size(request, limits)
        with turn:
            found = predict_tags(
                tagger,
                request.texts,
                kind=request.kind,
                top_k=request.top_k,
                threshold=request.threshold,
            )
        titles = tagger.titles_
        return PredictAnswer(
            predictions=[
                Tagged(
                    labels=[
                        Label(label=tag.label, score=tag.score, title=titles.get(tag.label))
                        for tag in tags
                    ]
                )
                for tags in found
            ]
        )

    @app.post("/explain")
    def explain(request: ExplainRequest) -> ExplainAnswer:
        """What is behind the score of a label."""
        check_characters(len(request.text), limits)
        with turn:
            found = tagger.explain(request.text, request.label)
        return ExplainAnswer(explanation=found.to_dict(), table=found.table())

    return app


def check_size(request: PredictRequest, limits: Limits) -> None:
    """Refuse a request that is beyond the limits."""
    if len(request.texts) > limits.max_texts:
        raise TooLargeError(
            f"the request has {len(request.texts):,} texts, at most {limits.max_texts:,} are taken "
            "at once: send several requests"
        )
    check_characters(sum(map(len, request.texts)), limits)
    if request.top_k is not None and request.top_k > limits.max_top_k:
        raise TooLargeError(f"top_k is at most {limits.max_top_k:,}, got {request.top_k:,}")


def check_characters(n: int, limits: Limits) -> None:
    """Refuse texts that are too long."""
    if n > limits.max_characters:
        raise TooLargeError(
            f"the request has {n:,} characters of text, at most {limits.max_characters:,} are "
            "taken at once: send several requests, or shorter texts"
        )


def _answer_errors(app: FastAPI) -> None:
    """Answer every error with ``{"error": ...}`` and a code that says whose it is."""

    @app.exception_handler(RequestValidationError)
    def not_understood(_: Request, error: RequestValidationError) -> JSONResponse:
        return _refused(422, _misunderstood(error))

    @app.exception_handler(HTTPException)
    def refused_by_the_framework(request: Request, error: HTTPException) -> JSONResponse:
        path, headers = request.url.path, dict(error.headers or {})
        if error.status_code == 404:
            return _refused(404, f"there is nothing at {path}: /docs lists what there is")
        if error.status_code == 405:
            allowed = headers.get("Allow", "another method")
            return _refused(405, f"{path} does not take {request.method}: use {allowed}", headers)
        if error.status_code == 400:  # all that it can be: see get_request_handler of fastapi
            return _refused(
                422, "the request cannot be read: it is not UTF-8, or its lists nest too deeply"
            )
        return _refused(error.status_code, str(error.detail), headers)

    @app.exception_handler(MultitudesError)
    def known(_: Request, error: MultitudesError) -> JSONResponse:
        code = 400
        if isinstance(error, TooLargeError):
            code = 413
        elif isinstance(error, ResourceError):
            code = 503
        return _refused(code, str(error))

    @app.exception_handler(Exception)
    def unknown(_: Request, error: Exception) -> JSONResponse:
        return _refused(500, f"unexpected error: {type(error).__name__}: {error}")


def _misunderstood(error: RequestValidationError) -> str:
    """Say what is wrong with a request, by the first of its errors."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return f"the request is not JSON: {first['ctx']['error']} at character {first['loc'][-1]}"
    if isinstance(error.body, bytes):  # not parsed, since it does not say that it is JSON
        wanted = "content-type: application/json"
        return f"the request does not say that it is JSON: add the header {wanted}"
    where = ".".join(str(part) for part in first["loc"] if part != "body") or "the request"
    return f"{where}: {first['msg']}"


def _refused(code: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": message}, status_code=code, headers=headers)
