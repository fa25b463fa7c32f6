"""Who may ask a server, and the layer before the application that says so."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from multitudes.errors import ConfigError
from multitudes.server.access.keys import Keys
from multitudes.server.refusals import RefusedError, as_answer

# What needs no key: whether it is up, and the page, which asks for one.
OPEN = frozenset({"/health", "/ready", "/", "/docs", "/openapi.json", "/favicon.ico"})
OPEN_FOLDER = "/static/"
METRICS = "/metrics"
READING = frozenset({"GET", "HEAD"})
ELSEWHERE = frozenset({b"cross-site", b"same-site"})  # what browsers call pages of other sites
EXPOSED = b"retry-after, x-request-id"
ALLOWED = b"authorization, content-type, x-api-key, x-request-id"


class NoKeyError(RefusedError):
    """A request without a key that is known."""

    code = 401
    headers = {"www-authenticate": "Bearer"}


class OtherSiteError(RefusedError):
    """A page of another site asks for something."""

    code = 403


@dataclass(frozen=True)
class Access:
    """Who may ask.

    Parameters
    ----------
    keys : Keys, optional
        Requests need one of these; by default none.
    origins : tuple of str
        Sites whose pages may ask, such as ``https://tags.example.org``; "*" for all.
    open_metrics : bool
        Whether /metrics needs no key.
    """

    keys: Keys | None = None
    origins: tuple[str, ...] = ()
    open_metrics: bool = False

    def __post_init__(self) -> None:
        for origin in self.origins:
            scheme, sign, rest = origin.partition("://")
            if origin != "*" and not (
                sign and scheme in ("http", "https") and rest.strip("/") == rest
            ):
                raise ConfigError(
                    f"a site is given as https://name or http://name:port, or as * for all, got "
                    f"{origin!r}"
                )

    def check_public(self, host: str, *, is_open: bool) -> None:
        """Refuse to listen where others can ask, without keys, unless that is wanted."""
        if self.keys is None and not is_open and not is_own(host):
            raise ConfigError(
                f"{host} can be reached from other machines, and no key is asked for: give --keys "
                "FILE, or --open if everybody there may ask"
            )


class Door:
    """Lets requests in that have a key, and tells browsers which other sites may ask.

    Parameters
    ----------
    app : ASGI application
    access : Access
    """

    def __init__(self, app: ASGIApp, *, access: Access) -> None:
        self.app = app
        self.access = access
        self.origins = frozenset(origin.encode() for origin in access.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        origin = headers.get(b"origin")
        allowed = None if origin is None else self._allowed(origin)
        if allowed is not None:
            send = _told(send, allowed)
            if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
                await _answer_preflight(send)
                return
        try:
            self._check_site(scope, headers, is_allowed=allowed is not None)
            self._check_key(scope, headers)
        except RefusedError as error:
            await as_answer(error)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _allowed(self, origin: bytes) -> bytes | None:
        if b"*" in self.origins:
            return b"*"
        return origin if origin in self.origins else None

    def _check_site(self, scope: Scope, headers: dict[bytes, bytes], *, is_allowed: bool) -> None:
        """Refuse what a page of another site has a browser send: a form needs no permission."""
        if is_allowed or scope["method"] in READING:
            return
        if headers.get(b"sec-fetch-site") in ELSEWHERE:
            raise OtherSiteError(
                "a page of another site asks for this: start the server with --cors and the site "
                "to allow it"
            )

    def _check_key(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        keys, path = self.access.keys, scope["path"]
        if keys is None or path in OPEN or path.startswith(OPEN_FOLDER):
            return
        if path == METRICS and self.access.open_metrics:
            return
        given = headers.get(b"x-api-key") or _bearer(headers.get(b"authorization", b""))
        name = None if given is None else keys.name_of(given)
        if name is None:
            what = "the key is not known" if given else "a key is needed"
            raise NoKeyError(
                f"{what}: send the header authorization: Bearer KEY, or x-api-key: KEY"
            )
        scope["key"] = name


def is_own(host: str) -> bool:
    """Whether an address is this machine's own, which others cannot reach."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bearer(header: bytes) -> bytes | None:
    kind, _, key = header.strip().partition(b" ")
    return key.strip() or None if kind.lower() == b"bearer" else None


def _told(send: Send, origin: bytes) -> Send:
    """Return a `send` that tells a browser that a site may read the answer."""

    async def telling(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *_told_headers(origin)]
        await send(message)

    return telling


def _told_headers(origin: bytes) -> Iterable[tuple[bytes, bytes]]:
    yield b"access-control-allow-origin", origin
    yield b"access-control-expose-headers", EXPOSED
    if origin != b"*":
        yield b"vary", b"origin"


async def _answer_preflight(send: Send) -> None:
    """Say what a page of an allowed site may send."""
    headers = [
        (b"access-control-allow-methods", b"GET, HEAD, POST"),
        (b"access-control-allow-headers", ALLOWED),
        (b"access-control-max-age", b"600"),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
