"""Forms, as browsers and Annif's clients send them: names and values, percent-encoded."""

from __future__ import annotations

import numpy as np

from multitudes.server.annif.problems import OtherTypeError
from multitudes.server.limits import Limits
from multitudes.server.reading import too_long
from multitudes.server.refusals import NotUnderstoodError, TooLargeError

FORM = "application/x-www-form-urlencoded"
MAX_FIELDS = 100
BYTES_PER_CHARACTER = 4  # of UTF-8, at most
_PERCENT = 0x25
_NOT_HEX = 255
_HEX = np.full(256, _NOT_HEX, np.uint8)
_HEX[list(b"0123456789")] = range(10)
_HEX[list(b"abcdef")] = _HEX[list(b"ABCDEF")] = range(10, 16)


def check_form(content_type: str) -> None:
    """Refuse what does not say that it is a form."""
    if content_type.partition(";")[0].strip().lower() != FORM:
        raise OtherTypeError(
            f"the request is not a form: send its fields with the header content-type: {FORM}"
        )


def parsed_form(body: bytes, limits: Limits) -> dict[str, str]:
    """Return the fields of a form; the first of those with the same name."""
    if body.count(b"&") >= MAX_FIELDS:
        raise TooLargeError(f"the form has more than {MAX_FIELDS} fields, which is the most")
    if len(body) - 2 * body.count(b"%") > BYTES_PER_CHARACTER * limits.max_characters:
        raise too_long(f"more than {limits.max_characters:,}", limits)
    fields: dict[str, str] = {}
    for pair in body.split(b"&"):
        name, _, value = pair.partition(b"=")
        if pair:
            fields.setdefault(_decoded(name), _decoded(value))
    return fields


def _decoded(part: bytes) -> str:
    try:
        return unquoted(part.replace(b"+", b" ")).decode()
    except UnicodeDecodeError:
        raise NotUnderstoodError("the form cannot be read: it is not UTF-8") from None


def unquoted(part: bytes) -> bytes:
    """Return bytes in which each ``%41`` is the byte it stands for.

    `urllib` takes seconds, and Python's lock, for megabytes of them.
    """
    given = np.frombuffer(part, np.uint8)
    at = np.flatnonzero(given[:-2] == _PERCENT)
    if not len(at):
        return part
    high, low = _HEX[given[at + 1]], _HEX[given[at + 2]]
    is_escape = (high != _NOT_HEX) & (low != _NOT_HEX)
    at = at[is_escape]
    found = given.copy()
    found[at] = high[is_escape] * 16 + low[is_escape]
    kept = np.ones(len(given), bool)
    kept[at + 1] = kept[at + 2] = False
    return found[kept].tobytes()
