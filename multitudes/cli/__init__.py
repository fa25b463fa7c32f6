"""The command line: one file per verb. It translates, and holds no logic."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextvars import ContextVar

TRACEBACK_VARIABLE = "MULTITUDES_TRACEBACK"

typed: ContextVar[tuple[str, ...]] = ContextVar("typed", default=())
"""The arguments of the command that is running."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command ``multitudes``; never returns."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    typed.set(tuple(given))
    # Allowed before and after the verb: it is what one adds to a command that just failed.
    if "--traceback" in given:
        given.remove("--traceback")
        os.environ[TRACEBACK_VARIABLE] = "1"
    try:
        from multitudes.cli.app import app

        app(given, prog_name="multitudes")
    except KeyboardInterrupt:  # before or after the verb itself, which handles its own
        sys.exit(130)
