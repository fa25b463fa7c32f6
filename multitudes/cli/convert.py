"""multitudes convert: data from one format to another."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Annotated

import typer

from multitudes.cli import options
from multitudes.cli.files.model_import import LabelNames, import_model_folder
from multitudes.cli.files.streams import (
    STANDARD,
    TolerantReading,
    claimed,
    local_target,
    refuse_overwriting,
    remark,
)
from multitudes.cli.printing.wording import in_flags
from multitudes.cli.verb import expanded
from multitudes.errors import ConfigError


def _write_settings(incomplete: str) -> list[tuple[str, str]]:
    from multitudes.data.options import WriteOptions

    return [(f"{name}=", doc) for name, _, _, doc in WriteOptions.describe()]


def convert(
    source: Annotated[
        Path | None, typer.Argument(help="File or folder to read; - is stdin.")
    ] = None,
    target: Annotated[
        Path | None, typer.Argument(help="File or folder to write; - is stdout.")
    ] = None,
    reading: TolerantReading = TolerantReading(),
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            autocompletion=options._formats,
            help="Format to write; recognized by the target's suffix by default.",
        ),
    ] = None,
    write: Annotated[
        list[str] | None,
        typer.Option(
            "--write",
            metavar="NAME=VALUE",
            autocompletion=_write_settings,
            help="A setting of writing, e.g. label_kind=ids. May be repeated.",
        ),
    ] = None,
    labels: LabelNames = None,
    list_settings: Annotated[
        bool, typer.Option("--list-settings", help="Show formats and settings, and stop.")
    ] = False,
) -> None:
    """Turn data from one format into another, or a model of PECOS or omikuji into ours.

    Compression goes by suffix: .gz, .xz, .bz2 or .zst.

    Example:  multitudes convert books.csv books.jsonl.gz --read text_column=title
    """
    if list_settings:
        _show_settings()
        return
    if source is None or target is None:
        raise ConfigError("convert needs two files: multitudes convert IN OUT")
    about_data = {"--to": to, "--write": write, "--read": reading.read, "--format": reading.format}
    if import_model_folder(source, target, labels, about_data, quiet=reading.quiet):
        return
    with claimed(target):
        _convert(source, target, to, write or [], reading)


def _convert(
    source: Path, target: Path, to: str | None, write: list[str], reading: TolerantReading
) -> None:
    from multitudes import data, progress
    from multitudes.data.writing import left_behind
    from multitudes.tagger import parse_settings

    writing = data.WriteOptions.from_dict(parse_settings(write))
    settings = reading.settings()
    sources = [source, settings.get("group_labels"), settings.get("instance_groups")]
    targets = [target, writing.group_labels, writing.instance_groups]
    for one, other in product(filter(None, sources), filter(None, targets)):
        refuse_overwriting(Path(str(one)), Path(str(other)))
    with progress.shown(not reading.quiet):
        dataset = reading.dataset(source)
        if target == STANDARD and to is None:
            to = "json-lines"
        with local_target(target) as file:
            data.write_dataset(dataset, file, format=to, options=writing)
    if not reading.quiet:
        for sentence in left_behind(dataset, target, format=to, options=writing):
            remark(in_flags(sentence, expanded(convert)))
        remark(f"{dataset!r}, written to {target}")


def _show_settings() -> None:
    from multitudes.cli.printing.show import console, table
    from multitudes.data import ReadOptions, WriteOptions, list_formats

    out = console()
    out.print("Formats, for --format and --to:\n")
    out.print(table(["name", ""], [[f.name, f.summary] for f in list_formats()], left=2))
    for option, config in (("--read", ReadOptions), ("--write", WriteOptions)):
        out.print(f"\nSettings for {option} NAME=VALUE:\n")
        rows = [[name, str(default), doc] for name, _, default, doc in config.describe()]
        out.print(table(["name", "default", ""], rows, left=3))
