"""What every verb shares: errors become one line and an exit code, options come in groups.

A verb may declare a parameter whose type is a dataclass of options, e.g. `streams.Reading`: each of
its fields with an `Annotated` typer option becomes an option, and the verb is given the dataclass.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, NoReturn, get_origin, get_type_hints

import typer
import typer.core

from multitudes import stopping
from multitudes.cli import TRACEBACK_VARIABLE
from multitudes.cli.printing.shortage import shortage
from multitudes.cli.printing.wrapping import stdout_without_trailing_blanks, terminal_width, wrapped
from multitudes.errors import MultitudesError

UNEXPECTED = 1
BROKEN_PIPE = 141
_MARK = "lookup:"
SET = "--set"
WIDTH_OF_BOXES = 64  # columns that boxes of options need
SETTING = re.compile(r"[a-z_][a-z0-9_.@+-]*=")


def guarded(function: Callable[..., None]) -> Callable[..., None]:
    """Return a verb whose errors become one line on stderr and the exit code of their class."""
    verb = expanded(function)

    @functools.wraps(verb)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            verb(*args, **kwargs)
            sys.stdout.flush()
        except typer.Exit:
            raise
        except KeyboardInterrupt as stop:  # a training that saved itself says how to go on
            _fail(str(stop) or stopping.sentence(), stopping.exit_code())
        except BrokenPipeError:  # the reader of our output, e.g. `head`, has seen enough
            _forget_output()
            raise typer.Exit(BROKEN_PIPE) from None
        except MultitudesError as error:
            from multitudes.cli.printing.wording import in_flags

            _fail(f"error: {in_flags(str(error), verb)}", error.exit_code)
        except Exception as error:  # noqa: BLE001  a bug of ours must not look like a crash
            lacking = shortage(error)
            if lacking is not None:
                _fail(f"error: {lacking}", lacking.exit_code)
            text = f"unexpected error: {type(error).__name__}: {error}"
            _fail(f"{text} (add --traceback to see where it came from)", UNEXPECTED)

    return run


def _forget_output() -> None:
    """Let what is still to be written to stdout go nowhere, so that Python ends without a word."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> NoReturn:
    """Say it on stderr and leave with the exit code; with the traceback if that was asked for."""
    if os.environ.get(TRACEBACK_VARIABLE, "") not in ("", "0"):
        traceback.print_exc()
    shown = wrapped(message, terminal_width(sys.stderr))
    with suppress(OSError):  # nobody reads it, or the disk that it goes to is full
        typer.secho(shown, err=True, fg="red" if code <= 128 else None)
    try:
        sys.stdout.flush()
    except OSError:  # as above
        _forget_output()
    raise typer.Exit(code) from None


def expanded(function: Callable[..., None]) -> Callable[..., None]:
    """Return a verb that takes the options of its dataclass parameters one by one."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[Any, list[str]]] = {}
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        kind: Any = hints[name]
        if not dataclasses.is_dataclass(kind):
            parameters.append(parameter.replace(annotation=kind))
            continue
        options = _options(kind)
        groups[name] = (kind, [option.name for option in options])
        parameters += options

    @functools.wraps(function)
    def run(**values: Any) -> None:
        for name, (kind, fields) in groups.items():
            values[name] = kind(**{field: values.pop(field) for field in fields})
        function(**values)

    without_default = inspect.Parameter.empty
    parameters.sort(key=lambda parameter: parameter.default is not without_default)
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def _options(kind: Any) -> list[inspect.Parameter]:
    """Return the fields of a dataclass that are options, as parameters."""
    hints = get_type_hints(kind, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=field.default,
            annotation=hints[field.name],
        )
        for field in dataclasses.fields(kind)
        if get_origin(hints[field.name]) is Annotated
    ]


def _one_for_each(args: Sequence[str]) -> Iterator[str]:
    """Yield ``--set a=1 b=2`` as ``--set a=1 --set b=2``: most programs with lists allow both."""
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
    """Return the help of an option that is a setting: its sentence in a Config, "module:Class".

    The sentence is looked up when help is shown, because importing Configs costs time that
    completing a command line or running another verb should not pay.
    """
    return f"{_MARK}{home}:{field}"


def from_function(home: str) -> str:
    """Return the help that a function "module:name" gives when it is shown."""
    return f"{_MARK}{home}:"


class PlainHelp:
    """Help that shows what a user types: flags alone, and N, TEXT or PATH for values."""

    rich_markup_mode: Any

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with a word for the value of each."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in found:
            if parameter.metavar is None:
                parameter.metavar = _value_of(parameter)
        return found

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help: in boxes, but as a plain list where these would cut options off."""
        mode = self.rich_markup_mode
        if (terminal_width(sys.stdout) or WIDTH_OF_BOXES) < WIDTH_OF_BOXES:
            self.rich_markup_mode = None
        try:
            with stdout_without_trailing_blanks():
                super().format_help(ctx, formatter)  # type: ignore[misc]
        finally:
            self.rich_markup_mode = mode


def _value_of(parameter: Any) -> str:
    """Return the word that stands for the value of a parameter in help; none for a flag."""
    if parameter.param_type_name == "argument":
        return str(parameter.name).upper()
    if parameter.is_flag:
        return ""
    words = {"int": "N", "integer": "N", "float": "X", "path": "PATH"}
    if hasattr(parameter, "display_type"):  # of typer since 0.28 or so; before, click's types
        kinds = parameter.display_type(None).strip("<>").split()
    else:
        kinds = parameter.type.name.split()
    return words.get(kinds[0] if kinds else "", "TEXT")


class Root(PlainHelp, typer.core.TyperGroup):
    """The command ``multitudes`` itself."""


class Verb(PlainHelp, typer.core.TyperCommand):
    """A command whose options may take their help from Config classes and functions."""

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
                parameter.help = _looked_up(help_text)  # type: ignore[attr-defined]


def _looked_up(marked: str) -> str:
    module, name, field = marked.removeprefix(_MARK).split(":")
    found = getattr(importlib.import_module(module), name)
    if not field:
        return str(found())
    sentences = {row[0]: row[3] for row in found.describe()}
    return str(sentences[field])
