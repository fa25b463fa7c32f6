"""One request at a time in what a client sends, however it is cut, and what is not one."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi")

import httptools

from multitudes.server.http import frames
from multitudes.server.http.frames import Frame, NotARequestError

POST = b"POST /a?b=c HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello"
GET = b"GET /%61 HTTP/1.1\r\nhost: x\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"


class Taken:
    """A request as far as it came."""

    def __init__(self, scope, keep_alive):
        self.scope, self.keep_alive = scope, keep_alive
        self.body, self.is_whole, self.is_answered = b"", False, False

    def came(self, piece):
        self.body += piece

    def whole(self):
        self.is_whole = True


class Told:
    """A connection that keeps what it is told."""

    def __init__(self):
        self.requests = []
        self.transport = self
        self.is_closed = False

    def close(self):
        self.is_closed = True

    def begin(self, scope, *, keep_alive, expects):
        self.requests.append(Taken(scope, keep_alive))
        return self.requests[-1]


def fed(*pieces, answered=True):
    """What comes of pieces; parsing goes on behind a request only if it is answered."""
    told = Told()
    frame = Frame(told)
    for piece in pieces:
        at = 0
        while at < len(piece) and not told.is_closed:
            at += frame.feed(piece, at)
            if told.requests and told.requests[-1].is_whole and not answered:
                return told, piece[at:]
    return told, b""


@pytest.mark.parametrize("cut", range(1, len(POST + GET)))
def test_requests_may_be_cut_anywhere(cut):
    data = POST + GET
    told, _ = fed(data[:cut], data[cut:])
    first, second = told.requests
    assert (first.body, first.is_whole, second.is_whole) == (b"hello", True, True)
    assert (first.scope["path"], first.scope["query_string"]) == ("/a", b"b=c")
    assert (second.scope["path"], second.scope["raw_path"]) == ("/a", b"/%61")


@pytest.mark.parametrize("first", [POST, GET, b"\r\n\r\n" + POST])
def test_nothing_behind_a_request_is_read(first):
    told, rest = fed(first + POST + b"garbage", answered=False)
    assert len(told.requests) == 1
    assert rest == POST + b"garbage"


@pytest.mark.parametrize("behind", [GET, b"garbage"])
def test_what_comes_with_the_end_of_a_chunked_request_ends_the_connection(behind):
    told, _ = fed(CHUNKED, b"5\r\nhello\r\n0\r\nt: v\r\n\r\n" + behind, answered=False)
    (request,) = told.requests
    assert (request.body, request.is_whole) == (b"hello", True)
    assert not request.keep_alive
    assert (b"t", b"v") not in request.scope["headers"]


def test_an_upgrade_is_not_made():
    asking = POST.replace(b"content", b"connection: upgrade\r\nupgrade: websocket\r\ncontent")
    told, _ = fed(asking[:70], asking[70:] + GET)
    first, second = told.requests
    assert (first.body, first.is_whole, second.is_whole) == (b"hello", True, True)


@pytest.mark.parametrize(
    ("pieces", "code"),
    [
        pytest.param([b"GET / HTTP/1.1\r\na: " + b"b" * 7000] + [b"b" * 7000] * 2, 431, id="long"),
        pytest.param([b"\r\n" * 3000] * 4, 431, id="nothing"),
        pytest.param([CHUNKED, b"1;", *[b"x" * 7000] * 3], 400, id="extension"),
        pytest.param([CHUNKED, b"0\r\n", *[b"a: " + b"b" * 7000] * 3], 400, id="trailers"),
        pytest.param([CHUNKED, b"1\r\na\r\n" * 1001], 400, id="tiny pieces"),
        pytest.param([GET.replace(b"1.1", b"2.0")], 400, id="another version"),
        pytest.param([GET.replace(b"host: x", b"a: b")], 400, id="no host"),
        pytest.param([GET.replace(b"host: x", b"host: x\r\nhost: x")], 400, id="two hosts"),
        pytest.param([b"CONNECT x:80 HTTP/1.1\r\nhost: x\r\n\r\n"], 400, id="tunnel"),
        pytest.param([CHUNKED.replace(b"chunked", b"gzip")], 501, id="encoding"),
        pytest.param([CHUNKED.replace(b"chunked", b"gzip, chunked")], 501, id="two encodings"),
    ],
)
def test_what_goes_too_far_is_refused(pieces, code):
    with pytest.raises(NotARequestError) as refused:
        fed(*pieces)
    assert frames.refusal(refused.value)[0] == code


def test_lengths_that_contradict_are_refused():
    both = CHUNKED.replace(b"host", b"content-length: 5\r\nhost")
    for data in (both, CHUNKED.replace(b"\r\n\r\n", b"\r\ncontent-length: 5\r\n\r\n")):
        with pytest.raises(httptools.HttpParserError) as refused:
            fed(data)
        assert frames.refusal(refused.value) == (400, frames.TWICE)
    for length in (b"5, 5", b"-5", b"+5", b"0x5", b"9" * 100, b"5\r\ncontent-length: 5"):
        with pytest.raises(httptools.HttpParserError) as refused:
            fed(POST.replace(b"length: 5", b"length: " + length))
        assert frames.refusal(refused.value)[0] == 400
