"""What every verb shares: errors become one line and an exit code; help comes from Configs."""

from __future__ import annotations

import functools
import importlib
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, ParamSpec

import typer
import typer.core

from multitudes.cli import TRACEBACK_VARIABLE
from multitudes.errors import MultitudesError, ResourceError

Parameters = ParamSpec("Parameters")

UNEXPECTED = 1
INTERRUPTED = 130
BROKEN_PIPE = 141
_MARK = "config:"
SET = "--set"
SETTING = re.compile(r"[a-z_][a-z0-9_.]*=")


def guarded(function: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Run a verb; an error becomes one line on stderr and the exit code of its class."""

    @functools.wraps(function)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        try:
            function(*args, **kwargs)
            sys.stdout.flush()
        except typer.Exit:
            raise
        except KeyboardInterrupt as stop:  # a training that saved itself says how to go on
            _fail(str(stop) or "interrupted: nothing was left half-written", INTERRUPTED)
        except BrokenPipeError:  # the reader of our output, e.g. `head`, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(BROKEN_PIPE) from None
        except MultitudesError as error:
            _fail(f"error: {error}", error.exit_code)
        except MemoryError as error:
            _fail(f"error: out of memory: {error}", ResourceError.exit_code)
        except Exception as error:  # noqa: BLE001  a bug of ours must not look like a crash
            text = f"unexpected error: {type(error).__name__}: {error}"
            _fail(f"{text} (add --traceback to see where it came from)", UNEXPECTED)

    return run


def _fail(message: str, code: int) -> NoReturn:
    """Say it on stderr and leave with the exit code; with the traceback if that was asked for."""
    if os.environ.get(TRACEBACK_VARIABLE, "") not in ("", "0"):
        traceback.print_exc()
    typer.secho(message, err=True, fg="red" if code != INTERRUPTED else None)
    raise typer.Exit(code) from None


def _one_for_each(args: Sequence[str]) -> Iterator[str]:
    """``--set a=1 b=2`` as ``--set a=1 --set b=2``, the way of most programs with lists."""
    before = last = ""
    for arg in args:
        follows = before == SET and SETTING.match(last) and SETTING.match(arg)
        if follows and not Path(arg).exists():
            yield SET
            last = arg
        else:
            before, last = last, arg
        yield arg


def from_config(home: str, field: str) -> str:
    """Help for an option that is a setting: its sentence in the Config class ``module:Class``.

    The sentence is looked up when help is shown, because importing Configs costs time that
    completing a command line or running another verb should not pay.
    """
    return f"{_MARK}{home}:{field}"


class Verb(typer.core.TyperCommand):
    """A command whose options may take their help from Config classes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; several settings may follow one ``--set``."""
        return super().parse_args(ctx, list(_one_for_each(args)))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, sentences looked up."""
        self._look_up()
        super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete the command line; shells show the sentences too."""
        self._look_up()
        return super().shell_complete(ctx, incomplete)

    def _look_up(self) -> None:
        for parameter in self.params:
            help_text = getattr(parameter, "help", None) or ""
            if help_text.startswith(_MARK):
                module, name, field = help_text.removeprefix(_MARK).split(":")
                config = getattr(importlib.import_module(module), name)
                sentences = {row[0]: row[3] for row in config.describe()}
                parameter.help = sentences[field]  # type: ignore[attr-defined]
