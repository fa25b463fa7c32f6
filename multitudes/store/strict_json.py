"""JSON of a model, which anybody may have written: small, flat, and without two meanings."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import numpy as np

MAX_BYTES = 1 << 24
MAX_NESTING = 100

_MOST_BITS = 128  # the state of a random generator has as many
_MOST_DIGITS = 40  # of such an integer and its sign

_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # possessive: never tries twice
_OPENS, _CLOSES = b"[{", b"]}"


def parse(raw: bytes) -> Any:
    """Parse JSON of at most `MAX_BYTES` bytes and `MAX_NESTING` levels.

    Raises
    ------
    ValueError
        If it is larger, deeper or not JSON, if an object has a key twice, of which readers would
        choose different ones, if an integer has more than 128 bits, or if a string is not
        Unicode.
    """
    if len(raw) > MAX_BYTES:
        raise ValueError(f"it has {len(raw):,} bytes, allowed are {MAX_BYTES:,}")
    # Before it is parsed: how deep Python's parser can go depends on a limit that users may raise.
    if (depth := _nesting(raw)) > MAX_NESTING:
        raise ValueError(f"it is nested {depth:,} deep, allowed are {MAX_NESTING}")
    text = raw.decode("utf-8")
    content = json.loads(text, object_pairs_hook=_object, parse_int=_integer)
    if "\\ud" in text.lower():  # a pair of these escapes is one character, half of it is none
        json.dumps(content, ensure_ascii=False).encode("utf-8")
    return content


def fits(integer: int) -> bool:
    """Return whether an integer is one that a model may have: of at most 128 bits."""
    return integer.bit_length() <= _MOST_BITS


def _integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS or not fits(int(digits)):
        shown = digits if len(digits) <= 2 * _MOST_DIGITS else f"{digits[:_MOST_DIGITS]}..."
        raise ValueError(f"it has the integer {shown}, of more than {_MOST_BITS} bits")
    return int(digits)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = counts.most_common(1)[0][0]
        raise ValueError(f"it has the key {twice!r} twice")
    return made


def _nesting(raw: bytes) -> int:
    """Return how many brackets are open at most, those inside strings not counted."""
    codes = np.frombuffer(_STRINGS.sub(b"", raw), np.uint8)
    steps = np.zeros(len(codes), np.int8)
    steps[np.isin(codes, np.frombuffer(_OPENS, np.uint8))] = 1
    steps[np.isin(codes, np.frombuffer(_CLOSES, np.uint8))] = -1
    return int(np.cumsum(steps, dtype=np.int32).max(initial=0))
