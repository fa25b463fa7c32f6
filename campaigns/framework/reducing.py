"""Make the input of a finding small while it still fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable

Fails = Callable[[bytes], bool]


def reduced(content: bytes, fails: Fails, *, seconds: float) -> bytes:
    """Return a small part of `content` for which `fails` is still true.

    Pieces are left out, first halves, then quarters, down to single bytes, as long as that helps
    and the time lasts. `content` itself is known to fail.
    """
    deadline = time.monotonic() + seconds
    size = len(content) // 2
    while size >= 1 and time.monotonic() < deadline:
        smaller = _without_pieces(content, size, fails, deadline)
        if len(smaller) == len(content) or size > len(smaller):
            size = min(size // 2, len(smaller) // 2 or 1) if size > 1 else 0
        content = smaller
    return content


def _without_pieces(content: bytes, size: int, fails: Fails, deadline: float) -> bytes:
    """Leave out each piece of `size` bytes that is not needed."""
    at = 0
    while at < len(content) and time.monotonic() < deadline:
        without = content[:at] + content[at + size :]
        if fails(without):
            content = without
        else:
            at += size
    return content
