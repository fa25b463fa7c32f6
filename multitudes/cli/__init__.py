"""The command line: one file per verb. It translates, and holds no logic."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import NoReturn

from multitudes import stopping
from multitudes.cli import process

TRACEBACK_VARIABLE = "MULTITUDES_TRACEBACK"

typed: ContextVar[tuple[str, ...]] = ContextVar("typed", default=())
"""The arguments of the command that is running."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command ``multitudes``; never returns."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    typed.set(tuple(given))
    if arguments is None:
        process.collect_later()
    # Allowed before and after the verb: it is what one adds to a command that just failed.
    if "--traceback" in given:
        given.remove("--traceback")
        os.environ[TRACEBACK_VARIABLE] = "1"
    stopping.install()
    try:
        from multitudes.cli.app import app_for

        app_for(given)(given, prog_name="multitudes")
    except KeyboardInterrupt:
        _stop()
    except SystemExit as end:
        # Before or after the verb, which handles its own: typer makes it an exit code of its own.
        if end.__context__ and isinstance(end.__context__.__cause__, KeyboardInterrupt):
            _stop()
        if arguments is None:
            stopping.let_go()
            process.leave(end.code)
        raise
    finally:
        if arguments is None:
            stopping.let_go()


def _stop() -> NoReturn:
    with suppress(OSError):
        sys.stderr.write(f"{stopping.sentence()}\n")
    sys.exit(stopping.exit_code())
