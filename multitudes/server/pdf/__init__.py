"""The text of a PDF, found by another process: what is wrong with a file stays with it.

A PDF can be made to need any amount of time and memory. The process has a limit on both, is ended
with the request that waits for it, and there are never more than a few.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from multitudes.errors import require
from multitudes.server.refusals import BusyError, NotUnderstoodError, TooLargeError

SCRIPT = Path(__file__).with_name("program.py")
AT_ONCE = 2  # processes
MAX_WAITING = 6  # requests, those being read included
MAX_PAGES = 1000
LOOK = 0.2  # seconds between two looks at whether anybody waits
# Where packages are found; keys and other secrets of the server are none of its business.
PASSED = ("PATH", "PYTHONPATH", "PYTHONUSERBASE", "HOME", "APPDATA", "SYSTEMROOT")
MEMORY = 1_000_000_000  # bytes


class PdfReader:
    """Reads PDFs, a few at a time.

    Parameters
    ----------
    max_characters : int
        A longer text is refused.
    seconds : float
        For one file, once its turn has come.
    """

    def __init__(self, *, max_characters: int, seconds: float) -> None:
        self.max_characters = max_characters
        self.seconds = seconds
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    async def text(self, content: bytes, *, is_over: Callable[[], bool] = lambda: False) -> str:
        """Return the text of a file, or raise an error that says what is wrong with it.

        Parameters
        ----------
        content : bytes
        is_over : function
            Whether nobody waits for the text any more; asked now and then.
        """
        if not content[:1024].lstrip().startswith(b"%PDF-"):
            raise NotUnderstoodError("this is not a PDF: it does not begin with %PDF-")
        if importlib.util.find_spec("pypdf") is None:
            require("pypdf", extra="pdf")
        if self._waiting >= MAX_WAITING:
            raise BusyError("too many PDFs are being read: try again in a moment")
        self._waiting += 1
        try:
            async with self._turns:
                code, printed = await self._run(content, is_over)
        finally:
            self._waiting -= 1
        return _told(code, printed)

    async def _run(self, content: bytes, is_over: Callable[[], bool]) -> tuple[int | None, bytes]:
        """Return how the process ended, and what it printed."""
        limits = [self.max_characters, MAX_PAGES, MEMORY, int(self.seconds) + 1]
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # nothing beside the script is imported
            str(SCRIPT),
            *map(str, limits),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={name: os.environ[name] for name in PASSED if name in os.environ},
        )
        talking = asyncio.ensure_future(process.communicate(content))
        try:
            await self._wait(talking, is_over)
            return process.returncode, talking.result()[0]
        finally:
            if process.returncode is None:
                process.kill()
            await asyncio.wait({talking})

    async def _wait(self, talking: asyncio.Future[Any], is_over: Callable[[], bool]) -> None:
        """Wait for the process; raise an error if it takes too long, or nobody waits."""
        until = time.monotonic() + self.seconds
        while not talking.done():
            await asyncio.wait({talking}, timeout=LOOK)
            if is_over():
                raise BusyError("the server is stopping: try again")
            if not talking.done() and time.monotonic() > until:
                raise TooLargeError(
                    f"the PDF could not be read within {self.seconds:g} seconds: send a shorter "
                    "one, or its text"
                )


def _told(code: int | None, printed: bytes) -> str:
    """Return the text that the process found, or raise what it said instead."""
    try:
        found = orjson.loads(printed)
    except orjson.JSONDecodeError:
        found = {}
    if code == 0 and "text" in found:
        return str(found["text"])
    if "too_large" in found:
        raise TooLargeError(found["too_large"])
    reason = found.get("error", "it needs too much memory or time")
    raise NotUnderstoodError(f"this PDF cannot be read: {reason}")
