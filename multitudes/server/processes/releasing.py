"""The memory of a model that is not served any more, given back to the system."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import time
from weakref import ref

from multitudes.tagger import Tagger

PATIENCE = 60.0  # seconds for requests that began with it to end


def release() -> None:
    """Give back what nobody uses: the C library keeps it otherwise, for what may come."""
    gc.collect()
    if sys.platform.startswith("linux"):
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # not every C library has it
        if trim is not None:
            trim(0)


def release_when_gone(tagger: Tagger) -> None:
    """Do so in a thread once no request uses a tagger any more."""
    left = ref(tagger)

    def wait() -> None:
        until = time.monotonic() + PATIENCE
        while left() is not None and time.monotonic() < until:
            time.sleep(0.05)
        release()

    threading.Thread(target=wait, name="releasing", daemon=True).start()
