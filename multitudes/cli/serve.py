"""multitudes serve: models over HTTP."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from multitudes.cli import options
from multitudes.cli.files.streams import remark
from multitudes.memory import parse_size
from multitudes.server import Limits

if TYPE_CHECKING:
    from multitudes.data.vocabularies.subjects import Vocabularies
    from multitudes.server import Models
    from multitudes.server.access import Access

SIZES = {"max_body", "max_held", "max_corrections"}  # given as 16MB or the like
SENTENCES = {name: (default, sentence) for name, _, default, sentence in Limits.describe()}


def limit(name: str) -> Any:
    """Return the option that sets a limit, e.g. --max-texts."""
    default, sentence = SENTENCES[name]
    return typer.Option(
        "--" + name.replace("_", "-"),
        metavar="SIZE" if name in SIZES else None,
        help=sentence,
        show_default=f"{default:,}" if isinstance(default, int) else f"{default:g}",
        rich_help_panel="Limits",
    )


@dataclass(frozen=True)
class Limited:
    """What clients may ask for, and how long they may take."""

    max_texts: Annotated[int | None, limit("max_texts")] = None
    max_characters: Annotated[int | None, limit("max_characters")] = None
    max_top_k: Annotated[int | None, limit("max_top_k")] = None
    max_body: Annotated[str | None, limit("max_body")] = None
    max_held: Annotated[str | None, limit("max_held")] = None
    max_corrections: Annotated[str | None, limit("max_corrections")] = None
    max_waiting: Annotated[int | None, limit("max_waiting")] = None
    max_connections: Annotated[int | None, limit("max_connections")] = None
    header_seconds: Annotated[float | None, limit("header_seconds")] = None
    body_seconds: Annotated[float | None, limit("body_seconds")] = None
    answer_seconds: Annotated[float | None, limit("answer_seconds")] = None
    write_seconds: Annotated[float | None, limit("write_seconds")] = None
    idle_seconds: Annotated[float | None, limit("idle_seconds")] = None
    grace_seconds: Annotated[float | None, limit("grace_seconds")] = None

    def limits(self) -> Limits:
        """Return the limits, with their defaults."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        sizes = {name: parse_size(given[name]) for name in SIZES & given.keys()}
        return Limits(**given | sizes)


@dataclass(frozen=True)
class Guarded:
    """Who may ask."""

    keys: Annotated[
        Path | None,
        typer.Option(
            "--keys",
            metavar="FILE",
            help="Hashes of keys, one on each line: requests need one of the keys. Also "
            "MULTITUDES_KEYS, with commas between several.",
            rich_help_panel="Access",
        ),
    ] = None
    hash_key: Annotated[
        bool,
        typer.Option(
            "--hash-key",
            help="Print the line of such a file for a key from stdin, or for a new one, and end.",
            rich_help_panel="Access",
        ),
    ] = False
    is_open: Annotated[
        bool,
        typer.Option(
            "--open",
            help="Listen at an address that others can reach without asking for keys.",
            rich_help_panel="Access",
        ),
    ] = False
    open_metrics: Annotated[
        bool,
        typer.Option("--open-metrics", help="/metrics needs no key.", rich_help_panel="Access"),
    ] = False
    cors: Annotated[
        list[str] | None,
        typer.Option(
            "--cors",
            metavar="SITE",
            help="A site whose pages may ask, e.g. https://example.org; * for all. May be "
            "repeated.",
            rich_help_panel="Access",
        ),
    ] = None

    def access(self, host: str) -> Access:
        """Return who may ask, or refuse to listen at an address without keys."""
        from multitudes.server.access import Access, Keys

        found = None
        if self.keys is not None:
            found = Keys.read(self.keys)
        elif given := os.environ.get("MULTITUDES_KEYS"):
            found = Keys.of(filter(None, given.split(",")))
        access = Access(found, tuple(self.cors or ()), self.open_metrics)
        access.check_public(host, is_open=self.is_open)
        return access


@dataclass(frozen=True)
class Named:
    """What labels are called at Annif's addresses."""

    vocabulary: Annotated[
        list[str] | None,
        typer.Option(
            "--vocabulary",
            metavar="FILE",
            help="URIs, notations and names of labels: SKOS, or a table. As NAME=FILE for one of "
            "several models. May be repeated.",
            rich_help_panel="Annif",
        ),
    ] = None
    language: Annotated[
        str | None,
        typer.Option(
            "--language",
            metavar="CODE",
            help="Language of the names, e.g. en, if a request asks for no other; the commonest "
            "of the vocabulary by default.",
            rich_help_panel="Annif",
        ),
    ] = None

    def vocabularies(self, models: Iterable[str]) -> Vocabularies:
        """Read them."""
        from multitudes.data.vocabularies.subjects import Vocabularies

        return Vocabularies.read(self.vocabulary or (), models, self.language)


def say_coverage(models: Models, vocabularies: Vocabularies) -> None:
    """Say how many labels vocabularies name: none of them if it is the wrong one."""
    for served in models:
        subjects, labels = vocabularies.of(served.name), served.tagger.classes_
        if subjects.known:
            n = sum(subjects.uri_of(label) in subjects.known for label in labels)
            remark(f"{n:,} of {len(labels):,} labels of {served.name} are in {subjects.name}")


class Log(StrEnum):
    """How requests are logged."""

    TEXT = "text"
    JSON = "json"
    NONE = "none"


def serve(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL...",
            help="Folders of models, each as FOLDER or NAME=FOLDER. A request may name one; "
            "otherwise the first is asked.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen at; 0.0.0.0 is all of this machine's.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="0 for any that is free.")
    ] = 8000,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="A name by which clients may address the server, * for any. By default localhost, "
            "and any if --host is not this machine's own address. May be repeated.",
        ),
    ] = None,
    corrections: Annotated[
        Path | None,
        typer.Option(
            "--corrections",
            metavar="FILE",
            help="Take corrections, and append them to this file, which `multitudes update` reads.",
        ),
    ] = None,
    log: Annotated[
        Log,
        typer.Option("--log", help="How a line for each request is written to stderr."),
    ] = Log.TEXT,
    named: Named = Named(),
    workers: Annotated[
        int,
        typer.Option("--workers", min=1, max=256, help="Processes that answer, and share models."),
    ] = 1,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Take up new versions of models that their folders get."),
    ] = False,
    guarded: Guarded = Guarded(),
    limited: Limited = Limited(),
    computing: options.Computing = options.Computing(),
    quiet: options.Quiet = False,
) -> None:
    """Answer requests for tags over HTTP.

    POST /v1/predict takes {"texts": ["..."], "kind": "scores"}; /docs describes everything.

    Example:  multitudes serve model --port 8000
    """
    from multitudes.server import Models, serve
    from multitudes.server.models import named_folders

    if guarded.hash_key:
        print_hash()
        return
    folders = named_folders(models or [])
    access, vocabularies = guarded.access(host), named.vocabularies(folders)
    # A file that is cut while it is mapped would end the process; see docs/server.md.
    load = partial(computing.load, in_memory=True)
    shown = ", ".join(map(str, folders.values()))
    loaded = Models.read(folders, load=load)
    say_coverage(loaded, vocabularies)
    answered_all = serve(
        loaded,
        host=host,
        port=port,
        limits=limited.limits(),
        hosts=allow_host,
        corrections=corrections,
        vocabularies=vocabularies,
        access=access,
        log="none" if quiet else log.value,
        workers=workers,
        watch=watch,
        ready=lambda url: remark(f"serving {shown} at {url}, described at {url}/docs; Ctrl-C ends"),
    )
    if not answered_all:  # a prediction may still run, which the interpreter would wait for
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def print_hash() -> None:
    """Print the line of a file of keys for a key from stdin; for a new one if there is none."""
    from multitudes.cli.printing.show import say
    from multitudes.server.access.keys import line_of, new_key

    given = "" if sys.stdin.isatty() else sys.stdin.readline().strip()
    if not given:
        given = new_key()
        remark(f"a new key, which is shown this once: {given}")
    say(line_of(given))
