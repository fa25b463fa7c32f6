"""The body of a request to what it asks: measured first, built then, the first error last."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import orjson
from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from multitudes.kernels.json_shape import json_shape
from multitudes.server.limits import Limits
from multitudes.server.refusals import NotUnderstoodError, TooLargeError

SMALL = 64 * 1024  # bytes that are read faster than another thread is woken
SPARE_VALUES = 100  # of a request, beside its texts
SPARE_CHARACTERS = 10_000  # of a request, beside its texts: names of fields, a label
MAX_DEPTH = 20

Asked = TypeVar("Asked", bound=BaseModel)
Made = TypeVar("Made")


class Reader:
    """Reads requests: large ones in a thread of their own, one at a time.

    Parameters
    ----------
    limits : Limits
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._thread: ThreadPoolExecutor | None = None

    async def read(self, request: Request, kind: type[Asked]) -> Asked:
        """Return what a request asks, or raise an error that says what is wrong with it."""
        check_type(request.headers.get("content-type", ""))
        return await self.made_of(request, lambda body: parsed(body, kind, self.limits))

    async def made_of(self, request: Request, function: Callable[[bytes], Made]) -> Made:
        """Return what a function makes of the body of a request."""
        body = await request.body()
        # The request keeps its body for as long as it lives, and this may wait long for the model.
        request._body = b""
        return await self.made(body, function)

    async def made(self, body: bytes, function: Callable[[bytes], Made]) -> Made:
        """Return what a function makes of some bytes."""
        if len(body) <= SMALL:
            return function(body)
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="reading")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, function, body)

    def close(self) -> None:
        """End the thread; the next large request starts another."""
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)
            self._thread = None


def check_type(content_type: str) -> None:
    """Refuse what does not say that it is JSON: forms of other sites' pages cannot say so."""
    given = content_type.partition(";")[0].strip().lower()
    if given == "application/json":
        return
    kind, _, subtype = given.partition("/")
    if kind != "application" or not (subtype == "json" or subtype.endswith("+json")):
        wanted = "content-type: application/json"
        raise NotUnderstoodError(
            f"the request does not say that it is JSON: add the header {wanted}"
        )


def parsed(body: bytes, kind: type[Asked], limits: Limits) -> Asked:
    """Return what the bytes of a request ask.

    How much they hold is measured before anything is built: a million numbers in place of texts
    cost a look at their bytes.
    """
    check_shape(body, limits)
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if "not valid UTF-8" in error.msg:
            raise NotUnderstoodError("the request cannot be read: it is not UTF-8") from None
        raise NotUnderstoodError(
            f"the request is not JSON: {error.msg} at character {error.pos}"
        ) from None
    return checked(content, kind)


def checked(content: object, kind: type[Asked]) -> Asked:
    """Return what was sent as a message of its kind."""
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise NotUnderstoodError(_misunderstood(error)) from None


def check_shape(body: bytes, limits: Limits) -> None:
    """Refuse a request that holds too much, before it is built."""
    most_values = limits.max_texts + SPARE_VALUES
    most_characters = limits.max_characters + SPARE_CHARACTERS
    values, characters, depth = json_shape(
        np.frombuffer(body, np.uint8), most_values, most_characters, MAX_DEPTH
    )
    if depth > MAX_DEPTH:
        raise NotUnderstoodError(
            f"the request cannot be read: its lists nest too deeply, at most {MAX_DEPTH} levels"
        )
    if values > most_values:
        raise TooLargeError(
            f"the request has more than {limits.max_texts:,} texts or other values, which is the "
            "most that is taken at once: send several requests"
        )
    if characters > most_characters:
        raise too_long(f"more than {limits.max_characters:,}", limits)


def too_long(n: str, limits: Limits) -> TooLargeError:
    """Return the error of texts that are too long."""
    return TooLargeError(
        f"the request has {n} characters of text, at most {limits.max_characters:,} are taken at "
        "once: send several requests, or shorter texts"
    )


def _misunderstood(error: ValidationError) -> str:
    """Say what is wrong with a request, by the first of its errors."""
    first: Any = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part)[:100] for part in first["loc"]) or "the request"
    return f"{where}: {first['msg']}"
