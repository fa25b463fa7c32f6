"""Every way to ask wrongly that we could think of, over real sockets: one refusal, in one form.

Each row is what a client sends, the code it is told, and how its error begins. After each row the
server must answer a good request, and at the end it must hold nothing of all this.
"""

from __future__ import annotations

import gzip
import json

import pytest

pytest.importorskip("fastapi")

from multitudes.server.access import Access
from tests.server.serving import SHORT, serving

GOOD = b'{"texts": ["a leather belt"], "top_k": 1}'
NOT_JSON = "the request is not JSON: "
NOT_HTTP = "this is not a request"
KEPT = b'{"text": "a belt", '


def head(method: bytes, path: bytes, *headers: bytes) -> bytes:
    """The beginning of a request that is the last on its connection."""
    lines = [b"%b %b HTTP/1.1" % (method, path), b"host: localhost", b"connection: close", *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def get(path: bytes) -> bytes:
    return head(b"GET", path)


def post(body: bytes, path: bytes = b"/v1/predict", kind: bytes = b"application/json") -> bytes:
    length = b"content-length: %d" % len(body)
    return head(b"POST", path, b"content-type: " + kind, length) + body


def labels(query: bytes) -> bytes:
    return get(b"/v1/labels?" + query)


def explain(body: bytes) -> bytes:
    return post(body, b"/v1/explain")


def correct(body: bytes) -> bytes:
    return post(body, b"/v1/corrections")


TABLE = {
    # What is not JSON.
    "nothing": (post(b""), 422, NOT_JSON),
    "a word": (post(b"texts"), 422, NOT_JSON),
    "half": (post(b'{"texts": ["a'), 422, NOT_JSON),
    "two": (post(GOOD + GOOD), 422, NOT_JSON),
    "a comma too many": (post(b'{"texts": ["a"],}'), 422, NOT_JSON),
    "single quotes": (post(b"{'texts': ['a']}"), 422, NOT_JSON),
    "a remark": (post(b'{"texts": ["a"]} // a belt'), 422, NOT_JSON),
    "a byte order mark": (post(b"\xef\xbb\xbf" + GOOD), 422, NOT_JSON),
    "a control character": (post(b'{"texts": ["a\x01"]}'), 422, NOT_JSON),
    "NaN": (post(b'{"texts": ["a"], "threshold": NaN}'), 422, NOT_JSON),
    "Infinity": (post(b'{"texts": ["a"], "threshold": -Infinity}'), 422, NOT_JSON),
    "an escape that is none": (post(rb'{"texts": ["\x41"]}'), 422, NOT_JSON),
    "half a pair": (post(rb'{"texts": ["\ud83d"]}'), 422, NOT_JSON),
    # What is encoded in another way.
    "Latin-1": (post('{"texts": ["Gürtel"]}'.encode("latin-1")), 422, "the request cannot be read"),
    "UTF-16": (post('{"texts": ["Gürtel"]}'.encode("utf-16")), 422, "the request "),
    "overlong UTF-8": (post(b'{"texts": ["\xc0\xaf"]}'), 422, "the request cannot be read: it is"),
    "a surrogate": (post(b'{"texts": ["\xed\xa0\x80"]}'), 422, "the request cannot be read: it is"),
    "gzip": (
        head(b"POST", b"/v1/predict", b"content-type: application/json", b"content-encoding: gzip",
             b"content-length: %d" % len(gzip.compress(GOOD))) + gzip.compress(GOOD),
        422, "the request cannot be read: it is not UTF-8",
    ),
    # What is not said to be JSON.
    "a form": (post(b"texts=a", kind=b"application/x-www-form-urlencoded"), 422,
               "the request does not say that it is JSON"),
    "text": (post(GOOD, kind=b"text/plain"), 422, "the request does not say that it is JSON"),
    "no type": (post(GOOD, kind=b""), 422, "the request does not say that it is JSON"),
    "a type of bytes": (post(GOOD, kind=b"\xff\xfe"), 422, "the request does not say"),
    # Of other types than it should be.
    "null": (post(b"null"), 422, "the request: Input should be a valid dictionary"),
    "a number": (post(b"7"), 422, "the request: Input should be a valid dictionary"),
    "a list": (post(b'["a"]'), 422, "the request: Input should be a valid dictionary"),
    "a text alone": (post(b'{"texts": "a"}'), 422, "texts: Input should be a valid list"),
    "no texts": (post(b'{"top_k": 3}'), 422, "texts: Field required"),
    "texts of null": (post(b'{"texts": null}'), 422, "texts: Input should be a valid list"),
    "a text of null": (post(b'{"texts": ["a", null]}'), 422, "texts.1: Input should be a valid"),
    "lists of texts": (post(b'{"texts": [["a"]]}'), 422, "texts.0: Input should be a valid"),
    "a wrong name": (post(b'{"texts": ["a"], "topk": 3}'), 422, "topk: Extra inputs are not"),
    "a prototype": (post(b'{"texts": ["a"], "__proto__": {}}'), 422, "__proto__: Extra inputs"),
    "top_k of 0": (post(b'{"texts": ["a"], "top_k": 0}'), 422, "top_k: Input should be greater"),
    "top_k below 0": (post(b'{"texts": ["a"], "top_k": -1}'), 422, "top_k: Input should be"),
    "half a top_k": (post(b'{"texts": ["a"], "top_k": 2.5}'), 422, "top_k: Input should be a v"),
    "top_k of true": (post(b'{"texts": ["a"], "top_k": true}'), 422, "top_k: Input should be a va"),
    "top_k in words": (post(b'{"texts": ["a"], "top_k": "3"}'), 422, "top_k: Input should be a va"),
    "a huge top_k": (post(b'{"texts": ["a"], "top_k": 99999999999999999999999}'), 422, "top_k: "),
    "a large top_k": (post(b'{"texts": ["a"], "top_k": 100000}'), 413, "top_k is at most 1,000"),
    "a threshold in words": (post(b'{"texts": ["a"], "threshold": "0.5"}'), 422, "threshold: "),
    "a kind that is none": (post(b'{"texts": ["a"], "kind": "stars"}'), 422, "kind: Input should"),
    "a model that is none": (post(b'{"texts": ["a"], "model": "x"}'), 404, "there is no model 'x'"),
    "a path as a model": (post(b'{"texts": ["a"], "model": "../../x"}'), 404, "there is no model"),
    "a model of 3": (post(b'{"texts": ["a"], "model": 3}'), 422, "model: Input should be a valid"),
    # Too much.
    "deep lists": (post(b'{"texts": ' + b"[" * 5000 + b"]" * 5000 + b"}"), 422,
                   "the request cannot be read: its lists nest too deeply"),
    "deep objects": (post(b'{"a":' * 5000 + b"1" + b"}" * 5000), 422,
                     "the request cannot be read: its lists nest too deeply"),
    "many texts": (post(b'{"texts": [' + b'"",' * 2000 + b'""]}'), 413, "the request has more"),
    "many numbers": (post(b'{"texts": [' + b"1," * 90_000 + b"1]}"), 413, "the request has more"),
    "many names": (post(b"{" + b",".join(b'"a%d":1' % n for n in range(9000)) + b"}"), 413,
                   "the request has more than 1,000 texts or other values"),
    "a long text": (post(b'{"texts": ["' + b"a" * 100_001 + b'"]}'), 413, "the request has 100"),
    "a long number": (post(b'{"texts": ["a"], "top_k": ' + b"9" * 50_000 + b"}"), 422, NOT_JSON),
    "a long name": (post(b'{"texts": [], "' + b"a" * 9000 + b'": 1}'), 422, "aaa"),
    "a large body": (post(b" " * 200_001), 413, "the request has 200,001 bytes"),
    "a body without end": (head(b"POST", b"/v1/predict", b"content-length: 99999999999999"), 413,
                           "the request has 99,999,999,999,999 bytes"),
    # Explanations.
    "explain nothing": (explain(b"{}"), 422, "text: Field required"),
    "explain a list": (explain(b'{"text": ["a"], "label": "belt"}'), 422, "text: Input should be"),
    "explain no label": (explain(b'{"text": "a", "label": "nothing"}'), 400, "there is no label"),
    "explain a long label": (explain(b'{"text": "a", "label": "' + b"x" * 9000 + b'"}'), 400,
                             "there is no label 'xxx"),
    # Labels.
    "limit of 0": (labels(b"limit=0"), 422, "limit: Input should be greater than or equal to 1"),
    "limit of many": (labels(b"limit=1001"), 422, "limit: Input should be less than or equal"),
    "limit in words": (labels(b"limit=ten"), 422, "limit: Input should be a valid integer"),
    "limit of nothing": (labels(b"limit="), 422, "limit: Input should be a valid integer"),
    "limit without end": (labels(b"limit=" + b"9" * 5000), 422, "limit: "),
    "an unknown question": (labels(b"begins=b"), 422, "begins: Extra inputs are not permitted"),
    "labels of no model": (labels(b"model=none"), 404, "there is no model 'none'"),
    "no label": (get(b"/v1/labels/details"), 422, "label: Field required"),
    "an unknown label": (get(b"/v1/labels/details?label=%00"), 404, "the model 'model' has no"),
    "a label of bytes": (get(b"/v1/labels/details?label=%ff%fe"), 404, "the model 'model' has no"),
    "no senses": (get(b"/v1/senses?label=belt"), 400, "the model 'model' has no senses"),
    # Models.
    "an unknown model": (get(b"/v1/models/none"), 404, "there is no model 'none'"),
    "a model of bytes": (get(b"/v1/models/%ff%00"), 404, "there is no model"),
    "nothing to reload": (post(b"", b"/v1/models/model/reload"), 400, "the model 'model' was not"),
    # Corrections.
    "no correction": (correct(b"{}"), 422, "text: Field required"),
    "an empty text": (correct(b'{"text": ""}'), 422, "text: String should have at least 1"),
    "an empty label": (correct(KEPT + b'"added": [""]}'), 422, "added.0: String should have"),
    "a label of 10,001": (correct(KEPT + b'"added": ["' + b"x" * 10_001 + b'"]}'), 422, "added.0"),
    "right and wrong": (correct(KEPT + b'"added": ["a"], "rejected": ["a"]}'), 422, "the request"),
    "a long uid": (correct(KEPT + b'"uid": "' + b"7" * 1001 + b'"}'), 422, "uid: String should"),
    "many labels": (correct(KEPT + b'"added": [' + b'"a",' * 5000 + b'"a"]}'), 413, "the request"),
    "after nothing": (get(b"/v1/corrections?after=7"), 400, "there is no correction with the id 7"),
    "after less": (get(b"/v1/corrections?after=-1"), 422, "after: Input should be greater than"),
    "after all": (get(b"/v1/corrections?after=9223372036854775808"), 422, "after: "),
    # Addresses and methods.
    "no address": (get(b"/v1/nothing"), 404, "there is nothing at /v1/nothing"),
    "up and out": (get(b"/static/../../../etc/passwd"), 404, "the page has no such file"),
    "up and out, in code": (get(b"/static/%2e%2e/%2e%2e/app.py"), 404, "the page has no such file"),
    "a zero": (get(b"/v1/%00"), 404, "there is nothing at"),
    "of no UTF-8": (get(b"/%ff%fe"), 404, "there is nothing at"),
    "the wrong method": (get(b"/v1/predict"), 405, "/v1/predict does not take GET: use POST"),
    "another wrong one": (head(b"DELETE", b"/v1/models"), 405, "/v1/models does not take DELETE"),
    "a method that is none": (head(b"BELT", b"/v1/models"), 400, NOT_HTTP),
    "the page of another site": (
        head(b"POST", b"/v1/predict", b"content-type: application/json", b"origin: https://a.b",
             b"sec-fetch-site: cross-site", b"content-length: %d" % len(GOOD)) + GOOD,
        403, "a page of another site asks for this",
    ),
    # What is not HTTP.
    "no HTTP": (b"hello\r\n\r\n", 400, NOT_HTTP),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, NOT_HTTP),
    "HTTP/9": (b"GET /health HTTP/9.9\r\nhost: x\r\n\r\n", 400, NOT_HTTP),
    "a folded header": (b"GET /health HTTP/1.1\r\nhost: x\r\na: b\r\n c\r\n\r\n", 400, NOT_HTTP),
    "a header without a name": (b"GET /health HTTP/1.1\r\nhost: x\r\n: b\r\n\r\n", 400, NOT_HTTP),
    "two lengths": (head(b"POST", b"/v1/predict", b"content-length: 1", b"content-length: 2"), 400,
                    NOT_HTTP),
    "length in words": (head(b"POST", b"/v1/predict", b"content-length: ten"), 400, NOT_HTTP),
}  # fmt: skip


@pytest.fixture(scope="module")
def served(shop_tagger, tmp_path_factory):
    limits = SHORT.replaced(max_body=200_000, max_characters=100_000, header_seconds=2.0)
    kept = tmp_path_factory.mktemp("kept") / "corrections.jsonl"
    with serving(shop_tagger, limits, corrections=kept, access=Access()) as running:
        yield running
        context = running.server.config.app.state.context
        assert (context.room.held, context.work.n_waiting, kept.read_bytes()) == (0, 0, b"")


@pytest.mark.parametrize(("data", "code", "error"), TABLE.values(), ids=TABLE)
def test_a_bad_request_is_refused_and_the_next_one_answered(served, data, code, error):
    answer = served.ask(data)
    start, _, content = answer.partition(b"\r\n\r\n")
    assert int(start.split(b" ", 2)[1]) == code
    assert b"content-type: application/json" in start.lower()
    assert len(content) < 2000
    found = json.loads(content)
    assert list(found) == ["error"]
    assert found["error"].startswith(error)
    assert served.ask(post(GOOD)).startswith(b"HTTP/1.1 200 ")


def test_the_table_is_long():
    assert len(TABLE) >= 40
