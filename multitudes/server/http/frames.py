"""Where a request begins and ends in what a client sends, and whether it can be trusted."""

from __future__ import annotations

from typing import Any, Protocol
from urllib.parse import unquote

import httptools

from multitudes.server.http.exchanges import Channel, Exchange

MAX_HEADERS = 16 * 1024  # bytes
SLICE = 8 * 1024  # bytes of headers, or of a body of unknown length, that are parsed at a time
FEW_PIECES = 1000  # of a body, before their size is looked at
SMALL_PIECE = 16  # bytes: a body in pieces as small as this costs more to read than it is worth
END = b"\r\n\r\n"
VERSIONS = ("1.1", "1.0")
TWICE = (
    "the request declares its length twice: send either content-length, once, or "
    "transfer-encoding: chunked"
)
ASGI = {"version": "3.0", "spec_version": "2.3"}


class NotARequestError(httptools.HttpParserError):
    """What the parser takes for a request, and we do not."""

    def __init__(self, message: str, code: int = 400) -> None:
        super().__init__(message)
        self.code = code


class Begins(Channel, Protocol):
    """Who is told of a request when its headers are there."""

    def begin(self, scope: dict[str, Any], *, keep_alive: bool, expects: bool) -> Exchange:
        """Return what takes its body, and gives the answer."""


class Frame:
    """Gives httptools one request at a time.

    Parameters
    ----------
    connection : Begins
    """

    __slots__ = (
        "_connection", "_exchange", "_expects", "_fed", "_headers", "_is_done", "_is_wrong",
        "_left", "_n_bytes", "_n_pieces", "_parser", "_tail", "_url", "is_inside",
    )  # fmt: skip

    def __init__(self, connection: Begins) -> None:
        self._connection = connection
        self._parser = httptools.HttpRequestParser(self)
        self._exchange: Exchange | None = None
        self.is_inside = False  # a body: the headers are there, and its end is not
        self._is_done = False  # a request ended within what is being parsed
        self._is_wrong: NotARequestError | None = None
        self._fed = 0  # bytes of headers, or what a body has beside its own
        self._tail = b""  # the last bytes of headers that are not whole
        self._left: int | None = None  # bytes of a body, if it said how many
        self._n_pieces = self._n_bytes = 0
        self._clear()

    def feed(self, data: bytes, at: int) -> int:
        """Parse a part of what came, from `at` on, and return how many bytes that was."""
        until = self._until(data, at)
        piece = data if not at and until == len(data) else data[at:until]
        self._is_done, was_inside, n_bytes = False, self.is_inside, self._n_bytes
        try:
            self._parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            self._feed_without_upgrade()
        except httptools.HttpParserError:
            if self._is_done:
                self._nothing_follows()
            elif self._is_wrong is None:
                raise
        if self._is_wrong:
            raise self._is_wrong
        if was_inside:
            self._count_beside(len(piece) - (self._n_bytes - n_bytes))
        elif not (self.is_inside or self._is_done):
            self._count_headers(piece)
        return len(piece)

    def _until(self, data: bytes, at: int) -> int:
        """Return up to where to parse, so that it ends with a request wherever that is known."""
        if not self.is_inside:
            return self._end_of_headers(data, at)
        return min(len(data), at + (SLICE if self._left is None else self._left))

    def _end_of_headers(self, data: bytes, at: int) -> int:
        if self._tail:  # the end may have begun in what came before
            found = (self._tail + data[at : at + 3]).find(END)
            if found >= 0:
                return at + found + len(END) - len(self._tail)
        found = data.find(END, at, at + SLICE)
        return found + len(END) if found >= 0 else min(len(data), at + SLICE)

    def _count_headers(self, piece: bytes) -> None:
        self._fed += len(piece)
        self._tail = (self._tail + piece)[-3:]
        if self._fed > MAX_HEADERS:
            raise NotARequestError(f"its headers have more than {MAX_HEADERS:,} bytes", 431)

    def _count_beside(self, n_bytes: int) -> None:
        """Bound what comes between the pieces of a body, and behind them."""
        self._fed += n_bytes
        if self._fed > MAX_HEADERS + 2 * SMALL_PIECE * self._n_pieces:
            raise NotARequestError("there is too much between the pieces of the request")
        if self._n_pieces > FEW_PIECES and self._n_bytes < SMALL_PIECE * self._n_pieces:
            raise NotARequestError("the pieces of the request are too small")

    def _feed_without_upgrade(self) -> None:
        """Read a request again as if it did not ask for another protocol: there is none."""
        method = self._parser.get_method()
        if method == b"CONNECT":
            raise NotARequestError("this server opens no tunnels")
        lines = [b"%b %b HTTP/%b" % (method, self._url, self._parser.get_http_version().encode())]
        lines += [
            b"%b: %b" % header
            for header in self._headers
            if header[0] not in (b"upgrade", b"connection")
        ]
        self._parser = httptools.HttpRequestParser(self)
        self._parser.feed_data(b"\r\n".join(lines) + END)

    def _nothing_follows(self) -> None:
        """Close the connection after this answer: what is behind the request was not kept."""
        if self._exchange is not None:
            self._exchange.keep_alive = False
            if self._exchange.is_answered:
                self._connection.transport.close()

    # What httptools tells.

    def on_message_begin(self) -> None:
        """Begin a request."""
        if self._is_done:
            self._nothing_follows()
        else:
            self._clear()

    def on_url(self, url: bytes) -> None:
        """Take the address."""
        if not self._is_done:
            self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; those behind a body say nothing to us."""
        if not (self.is_inside or self._is_done):
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Have the request answered, whose body may be still to come."""
        parser = self._parser
        if self._is_done or parser.should_upgrade():
            return
        version = parser.get_http_version()
        try:
            self._check(version)
        except NotARequestError as error:
            self._is_wrong = error
            return
        path, _, query = self._url.partition(b"?")
        name = path.decode("latin-1")
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": ASGI,
            "http_version": version,
            "scheme": "http",
            "method": parser.get_method().decode("ascii"),
            "path": unquote(name) if "%" in name else name,
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": self._headers,
        }
        self.is_inside, self._fed, self._tail = True, 0, b""
        self._n_pieces = self._n_bytes = 0
        self._exchange = self._connection.begin(
            scope,
            keep_alive=version != "1.0" and parser.should_keep_alive(),
            expects=self._expects,
        )

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body."""
        if self.is_inside and self._exchange is not None:
            self._n_pieces += 1
            self._n_bytes += len(body)
            if self._left is not None:
                self._left -= len(body)
            self._exchange.came(body)

    def on_message_complete(self) -> None:
        """End a request."""
        if self._is_done or self._is_wrong or not self.is_inside:
            return
        self.is_inside, self._is_done = False, True
        self._fed = 0
        if self._exchange is not None:
            self._exchange.whole()

    def _clear(self) -> None:
        self._headers: list[tuple[bytes, bytes]] = []
        self._url = b""
        self._expects = False
        self._left = None

    def _check(self, version: str) -> None:
        """Refuse headers that contradict, and note what they say about the body."""
        n_hosts = 0
        for name, value in self._headers:
            if name == b"host":
                n_hosts += 1
            elif name == b"content-length":
                self._left = int(value)
            elif name == b"expect":
                self._expects = value.lower() == b"100-continue"
            elif name == b"transfer-encoding":
                if value.lower() != b"chunked":
                    raise NotARequestError("only transfer-encoding: chunked is known here", 501)
                if version == "1.0":
                    raise NotARequestError("HTTP/1.0 has no transfer-encoding")
        if version not in VERSIONS:
            raise NotARequestError(f"HTTP/{version} is not spoken here")
        if n_hosts != 1 and (n_hosts or version == "1.1"):
            raise NotARequestError("it must have the header host, once")


def refusal(error: httptools.HttpParserError) -> tuple[int, str]:
    """Return the code and the sentence with which bytes are refused."""
    if "Content-Length can't be" in str(error) or "Transfer-Encoding can't be" in str(error):
        return 400, TWICE
    return getattr(error, "code", 400), f"this is not a request that can be read: {error}"
