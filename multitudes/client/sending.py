"""Requests over HTTP: sent again when the server says that it is busy, errors as ours."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from multitudes.errors import ConfigError, MultitudesError, require

if TYPE_CHECKING:
    import httpx

BUSY = (429, 503)
FIRST_WAIT = 0.1  # seconds; doubled each time, unless the server says how long


class AnswerError(MultitudesError):
    """The server refuses a request; the message is its own.

    Parameters
    ----------
    message : str
    code : int
        Of HTTP.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class UnreachableError(MultitudesError):
    """There is no answer: no server, or not in time."""


class Sender:
    """Sends requests to one server, over connections that stay open.

    Parameters
    ----------
    url : str
    key : str, optional
    timeout : float
        Seconds for one answer.
    retries : int
        How often a request is sent again if the server is busy.
    patience : float
        Seconds to wait for a server that is busy, of all retries of a request together.
    transport : httpx transport, optional
        Another way to the server, e.g. an application in the same process.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None,
        timeout: float,
        retries: int,
        patience: float,
        transport: httpx.BaseTransport | None,
    ) -> None:
        self.httpx = require("httpx", extra="client")
        self.retries, self.patience = retries, patience
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        try:
            self.http: httpx.Client = self.httpx.Client(
                base_url=url, headers=headers, timeout=timeout, transport=transport
            )
        except (self.httpx.InvalidURL, ValueError, TypeError) as error:
            raise ConfigError(f"{url!r} is not the address of a server: {error}") from None

    def send(self, method: str, path: str, **content: Any) -> httpx.Response:
        """Return an answer; raise an `AnswerError` for one that is an error.

        Parameters
        ----------
        method, path : str
        content
            ``json``, sent as the body, and ``params``, of which those that are None are left out.
        """
        given: dict[str, Any] = {}
        if "json" in content:
            given["content"] = orjson.dumps(_without_none(content["json"]))
            given["headers"] = {"content-type": "application/json"}
        if "params" in content:
            given["params"] = _without_none(content["params"])
        until = time.monotonic() + self.patience
        for again in range(self.retries + 1):
            answer = self._once(method, path, given)
            if answer.status_code not in BUSY:
                break
            wait = _wait(answer, again)
            if again == self.retries or time.monotonic() + wait > until:
                break
            time.sleep(wait)
        if answer.is_success:
            return answer
        raise AnswerError(_sentence(answer), answer.status_code)

    def _once(self, method: str, path: str, given: Mapping[str, Any]) -> httpx.Response:
        try:
            return self.http.request(method, path, **given)
        except (self.httpx.TransportError, self.httpx.UnsupportedProtocol) as error:
            why = str(error) or type(error).__name__
            raise UnreachableError(f"no answer from {self.http.base_url}: {why}") from error


def _without_none(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def _wait(answer: httpx.Response, again: int) -> float:
    """Return the seconds to wait: what the server says, or longer each time."""
    try:
        said = float(answer.headers["retry-after"])
    except (KeyError, ValueError):  # it may also be a date
        said = math.nan
    return said if 0 <= said < math.inf else FIRST_WAIT * 2**again


def _sentence(answer: httpx.Response) -> str:
    """Return what the server says is wrong; or what stands between it and us."""
    try:
        return str(orjson.loads(answer.content)["error"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return f"the answer is {answer.status_code} {answer.reason_phrase}: {answer.text[:200]}"
