"""Make the items of an iterator ahead of time, in a background thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

SECONDS_TO_NOTICE = 0.1
"""How long a full queue may keep the thread from noticing that its items are not wanted."""


class _End:
    """Follows the last item: the error that ended the work, or None."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def prefetched(items: Iterable[Item], ahead: int) -> Iterator[Item]:
    """Yield the same items in the same order, up to `ahead` of them made in advance.

    An error raised while making an item is raised to the reader, after the items before it. A
    reader that stops early (``close``, or a ``break`` out of a for loop) ends the thread. With
    ``ahead=0`` there is no thread.
    """
    if ahead == 0:
        yield from items
        return
    ready: queue.Queue[Item | _End] = queue.Queue(maxsize=ahead)
    abandoned = threading.Event()

    def put(item: Item | _End) -> bool:
        while not abandoned.is_set():
            try:
                ready.put(item, timeout=SECONDS_TO_NOTICE)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        error: BaseException | None = None
        try:
            for item in items:
                if not put(item):
                    return
        except BaseException as raised:  # noqa: BLE001 (handed to the reader)
            error = raised
        put(_End(error))

    thread = threading.Thread(target=work, name="prefetch", daemon=True)
    thread.start()
    try:
        while True:
            item = ready.get()
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item
    finally:
        abandoned.set()
        thread.join()
