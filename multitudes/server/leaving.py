"""What our connections tell beyond ASGI: that a client leaves, or has sent all of its request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.types import Receive, Scope

# In a scope's extensions.
WHEN_GONE = "multitudes.when_gone"  # has a function called
IS_WHOLE = "multitudes.is_whole"  # returns whether all of the request is there

Leaving = Callable[[Callable[[], None]], Callable[[], object]]
"""Has a function called when a client leaves; returns what calls that off."""


def leaving(scope: Scope, receive: Receive) -> Leaving:
    """Return what notices that a client leaves: our connections tell, of others we ask."""
    told: Leaving | None = scope.get("extensions", {}).get(WHEN_GONE)
    if told is not None:
        return told

    async def ask(callback: Callable[[], None]) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        callback()

    def asking(callback: Callable[[], None]) -> Callable[[], object]:
        return asyncio.ensure_future(ask(callback)).cancel

    return asking


def is_whole(scope: Scope) -> bool:
    """Whether it is known that all of a request is there, so that nobody waits for it."""
    told: Callable[[], bool] | None = scope.get("extensions", {}).get(IS_WHOLE)
    return told is not None and told()
