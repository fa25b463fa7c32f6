"""The verbs put together. Imports nothing heavy: ``multitudes --help`` must answer at once."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer

from multitudes.cli.options import limiting
from multitudes.cli.verb import Root, Verb, guarded

VERBS = {
    "train": "multitudes.cli.train",
    "predict": "multitudes.cli.predict",
    "evaluate": "multitudes.cli.evaluate",
    "compare": "multitudes.cli.evaluate",
    "calibrate": "multitudes.cli.calibrate",
    "update": "multitudes.cli.update",
    "fuse": "multitudes.cli.fuse",
    "tune": "multitudes.cli.tune",
    "serve": "multitudes.cli.serve",
    "convert": "multitudes.cli.convert",
    "group": "multitudes.cli.group",
    "inspect": "multitudes.cli.inspect",
    "demo": "multitudes.cli.demo",
    "version": "multitudes.cli.version",
}
"""Where the function of each verb is, in the order in which help lists them."""
WITHOUT_DATA = ("demo", "version")  # they read no files of a user


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """Return the command line for some arguments: with their verb alone, if they begin with one.

    The options of the other verbs would take as long to put together as those of ten commands.
    """
    return with_verbs(arguments[:1] if arguments and arguments[0] in VERBS else VERBS)


def with_verbs(names: Iterable[str]) -> typer.Typer:
    """Return the command line with some of the verbs."""
    app = typer.Typer(
        name="multitudes",
        cls=Root,
        help="Tag texts: find the few right labels among thousands to millions.",
        epilog="Start with:  multitudes demo",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name in names:
        function = getattr(importlib.import_module(VERBS[name]), name)
        verb = function if name in WITHOUT_DATA else limiting(function)
        app.command(cls=Verb)(guarded(verb))
    app.callback()(_root)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        from multitudes.version import __version__

        typer.echo(f"multitudes {__version__}")
        raise typer.Exit


def _root(
    traceback: Annotated[
        bool,
        typer.Option(
            "--traceback",
            envvar="MULTITUDES_TRACEBACK",
            help="Show where an error came from. Allowed after the verb as well.",
        ),
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Show the version; the verb version shows more.",
        ),
    ] = False,
) -> None:
    """Tag texts: find the few right labels among thousands to millions."""


def __getattr__(name: str) -> Any:
    """Return `app`, the whole command line, when it is asked for."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["app"] = app = with_verbs(VERBS)
    return app
