"""How a case can end."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import Path

from multitudes.errors import MultitudesError

ANSWERED, REFUSED, SKIPPED = "answered", "refused", "skipped"
NAMELESS, FOREIGN, SILENT = "nameless", "foreign", "silent"
CRASH, HANG, MEMORY = "crash", "hang", "memory"
OUTCOMES = (ANSWERED, REFUSED, SKIPPED, NAMELESS, FOREIGN, SILENT, MEMORY, HANG, CRASH)
ALLOWED = frozenset((ANSWERED, REFUSED, SKIPPED))
"""Outcomes that keep the promise; any other makes a campaign fail."""

OURS = f"{Path('multitudes')}/"


class SilentChange(Exception):  # noqa: N818 - an outcome, not an error of the program
    """Raised by a case that got another answer and no error."""


class Nameless(Exception):  # noqa: N818
    """Raised by a case that was refused by an error of ours that does not name its file."""


class Skipped(Exception):  # noqa: N818
    """Raised by a case that cannot run here, e.g. because a package is not installed."""


@dataclass(frozen=True)
class Outcome:
    """How a case ended.

    Parameters
    ----------
    kind
        One of `OUTCOMES`.
    detail
        One line for people: the error, the signal, the number of bytes.
    signature
        Equal for cases that fail in the same way, so that each way is stored once.
    trace
        The traceback, if there is one.
    """

    kind: str
    detail: str = ""
    signature: str = ""
    trace: str = ""


def outcome_of(error: BaseException) -> Outcome:
    """Return the outcome of a case that raised `error`."""
    kind = _kind(error)
    if kind in (REFUSED, SKIPPED):
        return Outcome(kind, f"{type(error).__name__}: {error}"[:500])
    trace = "".join(traceback.format_exception(error))[-6000:]
    place = "" if kind == NAMELESS else _place(error)
    detail = f"{type(error).__name__}: {error}"[:500]
    named = _without_numbers(str(error))[:60] if kind in (NAMELESS, SILENT) else ""
    return Outcome(kind, detail, f"{type(error).__name__} {place}{named}", trace)


def _kind(error: BaseException) -> str:
    if isinstance(error, MultitudesError):
        return REFUSED
    if isinstance(error, MemoryError):
        return MEMORY
    for kind, raised in ((SILENT, SilentChange), (NAMELESS, Nameless), (SKIPPED, Skipped)):
        if isinstance(error, raised):
            return kind
    return FOREIGN


def _place(error: BaseException) -> str:
    """The last line of ours that an error went through, and where it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if OURS in frame.filename]
    shown = ours[-1] if ours else frames[-1] if frames else None
    return f"{Path(shown.filename).name}:{shown.name} " if shown else ""


def _without_numbers(text: str) -> str:
    return "".join("#" if character.isdigit() else character for character in text)
