"""multitudes serve: a model over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from multitudes.cli import options
from multitudes.cli.streams import remark
from multitudes.cli.verb import from_config

CONFIG = "multitudes.server:Limits"


def serve(
    model: Annotated[Path, typer.Argument(help="Folder of the model.")],
    host: Annotated[
        str, typer.Option("--host", help="Address to listen at; 0.0.0.0 is all, without password.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="0 for any that is free.")
    ] = 8000,
    max_texts: Annotated[
        int | None, typer.Option("--max-texts", min=1, help=from_config(CONFIG, "max_texts"))
    ] = None,
    computing: options.Computing = options.Computing(),
    quiet: options.Quiet = False,
) -> None:
    """Answer requests for tags over HTTP.

    POST /predict takes {"texts": ["..."], "kind": "scores"}; /docs describes everything.

    Example:  multitudes serve model --port 8000
    """
    from multitudes.server import Limits, serve

    limits = Limits() if max_texts is None else Limits(max_texts=max_texts)
    serve(
        computing.load(model),
        host=host,
        port=port,
        limits=limits,
        verbose=not quiet,
        ready=lambda url: remark(f"serving {model} at {url}, described at {url}/docs; Ctrl-C ends"),
    )
