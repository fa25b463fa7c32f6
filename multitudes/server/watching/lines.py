"""Lines of a log, as text or JSON, which a thread of their own writes: nobody waits for a terminal.

If whoever reads them falls behind, lines are left out and counted; requests are answered.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, BinaryIO

import orjson

MOST = 50_000  # lines that wait to be written
EVERY = 0.1  # seconds between two looks for lines
KINDS = ("text", "json", "none")
LOGGERS = ("uvicorn", "uvicorn.error", "uvicorn.access", "multitudes.server")


class Lines:
    """Writes lines in the background.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    out : binary file, optional
        stderr by default.
    """

    def __init__(self, kind: str = "none", out: BinaryIO | None = None) -> None:
        self.kind = kind
        self.out = out
        self._waiting: deque[bytes | dict[str, Any]] = deque()
        self._left_out = 0
        self._wake = threading.Event()
        self._stopped = False
        self._thread: threading.Thread | None = None

    def __bool__(self) -> bool:
        return self.kind != "none"

    def start(self) -> None:
        """Begin to write."""
        if self and self._thread is None:
            self._stopped = False
            self._wake.clear()
            self._thread = threading.Thread(target=self._run, name="logging", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Write what waits, for a second at most, and end."""
        if self._thread is not None:
            self._stopped = True
            self._wake.set()
            self._thread.join(1)
            self._thread = None

    def add(self, **fields: Any) -> None:
        """Have a line written; its time is now."""
        if len(self._waiting) >= MOST:
            self._left_out += 1
            return
        fields["time"] = time.time()
        self._waiting.append(fields)

    def _run(self) -> None:
        while not self._stopped:
            self._wake.wait(EVERY)
            self.write()
        self.write()

    def write(self) -> None:
        """Write what waits, now."""
        lines: list[bytes] = []
        while self._waiting:
            lines.append(self._line(self._waiting.popleft()))
        if self._left_out:
            n, self._left_out = self._left_out, 0
            note = {"time": time.time(), "level": "warning", "message": f"{n:,} lines left out"}
            lines.append(self._line(note))
        if lines:
            with suppress(OSError, ValueError):
                out = self.out or sys.stderr.buffer
                out.write(b"".join(lines))
                out.flush()

    def _line(self, fields: Any) -> bytes:
        if "path" in fields:
            fields["path"] = plain(fields["path"])
        moment = datetime.fromtimestamp(fields.pop("time"), UTC).isoformat(timespec="milliseconds")
        moment = moment.replace("+00:00", "Z")
        if self.kind == "json":
            return orjson.dumps({"time": moment, **fields}) + b"\n"
        if "method" not in fields:
            return f"{moment} {fields['level']}: {fields['message']}\n".encode("utf-8", "replace")
        key = f" ({fields['key']})" if fields.get("key") else ""
        line = (
            f"{moment} {fields['client']}{key} {fields['method']} {fields['path']} "
            f"{fields['status']} {1000 * fields['seconds']:.1f} ms {fields['request_id']}\n"
        )
        return line.encode("utf-8", "replace")


def plain(text: str) -> str:
    """Return a text of one line that can be written: an address may hold anything."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


class LogHandler(logging.Handler):
    """Hands what the server's loggers say to `Lines`."""

    def __init__(self, lines: Lines) -> None:
        super().__init__()
        self.lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        """Have a record written."""
        message = record.getMessage()
        if record.exc_info and record.exc_info[0] is not None:
            message += "\n" + logging.Formatter().formatException(record.exc_info)
        self.lines.add(level=record.levelname.lower(), message=message, logger=record.name)


def take_over(lines: Lines) -> None:
    """Have the server's loggers write to `lines`; requests have lines of their own."""
    if not lines:
        return
    handler = LogHandler(lines)
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = []
        logger.propagate = name not in ("uvicorn", "multitudes.server", "uvicorn.access")
        if name in ("uvicorn", "multitudes.server"):
            logger.addHandler(handler)
