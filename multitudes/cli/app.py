"""The verbs put together. Imports nothing heavy: ``multitudes --help`` must answer at once."""

from __future__ import annotations

from typing import Annotated

import typer

from multitudes.cli.calibrate import calibrate
from multitudes.cli.convert import convert
from multitudes.cli.demo import demo
from multitudes.cli.evaluate import compare, evaluate
from multitudes.cli.fuse import fuse
from multitudes.cli.group import group
from multitudes.cli.inspect import inspect
from multitudes.cli.options import limiting
from multitudes.cli.predict import predict
from multitudes.cli.serve import serve
from multitudes.cli.train import train
from multitudes.cli.tune import tune
from multitudes.cli.update import update
from multitudes.cli.verb import Root, Verb, guarded
from multitudes.cli.version import version

app = typer.Typer(
    name="multitudes",
    cls=Root,
    help="Tag texts: find the few right labels among thousands to millions.",
    epilog="Start with:  multitudes demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

VERBS = (
    train, predict, evaluate, compare, calibrate, update, fuse, tune, serve, convert, group,
    inspect, demo, version,
)  # fmt: skip
WITHOUT_DATA = (demo, version)  # they read no files of a user
for _function in VERBS:
    _verb = _function if _function in WITHOUT_DATA else limiting(_function)
    app.command(cls=Verb)(guarded(_verb))


def _show_version(wanted: bool) -> None:
    if wanted:
        from multitudes.version import __version__

        typer.echo(f"multitudes {__version__}")
        raise typer.Exit


@app.callback()
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
