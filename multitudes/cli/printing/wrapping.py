"""Lines that fit the terminal: wrapped at words, without blanks at their ends."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO

# Blanks before the end of a line, and before the codes that end a color there.
_TRAILING = re.compile(r"[ \t]+((?:\x1b\[[0-9;]*m)*)(?=\n)")
_BEFORE_NUMBER = re.compile(r" (?=[+-]\d)")
_GLUE = "\x1f"  # stands for a blank at which a line must not end
NARROWEST = 20


def terminal_width(stream: TextIO) -> int | None:
    """Return the columns of the terminal behind a stream; None if there is nothing to fit.

    COLUMNS has the last word, for pipes too.
    """
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns):
        return max(int(columns), NARROWEST)
    return max(shutil.get_terminal_size().columns, NARROWEST) if stream.isatty() else None


def wrapped(text: str, width: int | None, *, hanging: int = 2) -> str:
    """Return text whose lines end at words; lines that follow are set in by `hanging` more.

    A word and the number after it ("apple +0.31") stay together. None leaves lines as they are.
    """
    if width is None:
        return text
    lines = []
    for line in text.split("\n"):
        glued = _BEFORE_NUMBER.sub(_GLUE, line.rstrip())
        indent = " " * (len(glued) - len(glued.lstrip()))
        lines += textwrap.wrap(
            glued.lstrip(),
            width,
            initial_indent=indent,
            subsequent_indent=indent + " " * hanging,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return "\n".join(lines).replace(_GLUE, " ")


class WithoutTrailingBlanks:
    """A text stream that drops blanks at the ends of lines: tables pad their cells with them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text without them."""
        self._stream.write(_TRAILING.sub(r"\1", text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def stdout_without_trailing_blanks() -> Iterator[None]:
    """Drop blanks at the ends of lines from all that is printed meanwhile."""
    stream: Any = WithoutTrailingBlanks(sys.stdout)
    with redirect_stdout(stream):
        yield
