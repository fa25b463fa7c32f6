"""multitudes tune: data to settings that are better than the default, if there are any."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from multitudes.cli import options
from multitudes.cli.files.streams import (
    STANDARD,
    TolerantReading,
    claimed,
    output,
    refuse_overwriting,
    remark,
)
from multitudes.cli.train import Choosing, _models
from multitudes.cli.training.holding_out import share_of
from multitudes.cli.verb import from_config, from_function
from multitudes.errors import ConfigError

if TYPE_CHECKING:
    from multitudes.tuning import Tuner, TuningResult

CONFIG = "multitudes.tuning.tuner:TuningConfig"
SECONDS_TO_DRAW = 5.0


@dataclass(frozen=True)
class Tuned(Choosing):
    """What is tuned; its settings are fixed."""

    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            autocompletion=_models,
            help=from_function("multitudes.cli.training.model_help:models_help"),
        ),
    ] = "xr-linear"
    members: str | None = None  # not an option: models are tuned one by one


@dataclass(frozen=True)
class Searching:
    """What is searched, how long, and by what."""

    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            help="What is made as large as possible: any metric of evaluate, e.g. P@1, PSP@3, "
            "macro-F1@5 or, of sets, micro-F1.",
        ),
    ] = "nDCG@5"
    budget: Annotated[
        str,
        typer.Option("--budget", metavar="TIME", help="Wall time: 90s, 30m, 1h30m."),
    ] = "10m"
    search: Annotated[
        list[str] | None,
        typer.Option(
            "--search",
            metavar="NAME[=VALUES]",
            help="Search this setting: branching, solver.cost=log:0.1..10 or "
            "features.min_df=[1,2,3]. May be repeated; by default all that declare values.",
        ),
    ] = None
    n_trials: Annotated[
        int | None, typer.Option("--trials", min=1, help=from_config(CONFIG, "n_trials"))
    ] = None
    most_parts: Annotated[
        int, typer.Option("--parts", min=1, max=10, help=from_config(CONFIG, "most_parts"))
    ] = 3
    study: Annotated[
        Path | None,
        typer.Option(
            "--study",
            metavar="FILE",
            help="SQLite file that keeps the trials; the same command goes on from there.",
        ),
    ] = None
    validation: Annotated[
        str | None,
        typer.Option(
            "--validation",
            metavar="SHARE|FILE",
            help="What settings are chosen on: a share of the data that is held out, or a file; a "
            "tenth by default.",
        ),
    ] = None
    test: Annotated[
        str | None,
        typer.Option(
            "--test",
            metavar="SHARE|FILE",
            help="What the best and the default settings are compared on, and nothing is chosen "
            "on: a share of the data, or a file; a tenth by default.",
        ),
    ] = None


def tune(
    data: Annotated[Path, typer.Argument(help="File or folder to learn from; - is stdin.")],
    tuned: Tuned = Tuned(),
    searching: Searching = Searching(),
    out: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="JSON file for the result; - is stdout."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE.png", help="Draw the trials, and which settings mattered."
        ),
    ] = None,
    reading: TolerantReading = TolerantReading(),
    json: options.Json = False,
) -> None:
    """Search for better settings of a model and its features, within a time.

    The default is tried first, and compared with the best at the end, on data of its own.

    Example:  multitudes tune train.jsonl --model xr-linear --budget 30m --metric ndcg@5
    """
    started = time.monotonic()
    from multitudes import progress
    from multitudes.cli.printing.plots import check_plot, save_figure

    check_plot(plot)
    _check_targets(data, searching, out, plot)
    with claimed(out), progress.shown(not reading.quiet, in_flags=True):
        with progress.track("starting"):
            tuner = _tuner(tuned, searching)
        parts = {"validation": searching.validation, "test": searching.test}
        read = {name: _part(name, given, reading) for name, given in parts.items()}
        dataset = reading.dataset(data, require_labels=True)
        tuner.budget = _left(tuner.budget, started, drawing=plot is not None)
        stop: KeyboardInterrupt | None = None
        try:
            tuner.tune(dataset, **read)
        except KeyboardInterrupt as stopped:
            if not hasattr(tuner, "result_"):
                raise KeyboardInterrupt(_resumable(searching.study)) from stopped
            stop = stopped
    result = tuner.result_
    command = _command(result, data, reading)
    found = result.to_dict() | {"command": command}
    if out is not None:
        _write(found, out)
    if plot is not None:
        save_figure(plot, result.figure())
    _show(result, command, found if json else None, quiet=out == STANDARD)
    if not reading.quiet:
        for path, words in ((out, "written to"), (plot, "drawn to")):
            if path is not None and path != STANDARD:
                remark(f"{words} {path}")
    if stop is not None:
        raise KeyboardInterrupt(_resumable(searching.study)) from stop


def _check_targets(data: Path, searching: Searching, out: Path | None, plot: Path | None) -> None:
    """Refuse to write over what is read, or where nothing can be written, before any work."""
    given = {"--validation": searching.validation, "--test": searching.test}
    files = [one for name, one in given.items() if one is not None and share_of(one, name) is None]
    read = [data, *map(Path, files)]
    for target in (out, plot, searching.study):
        if target is None or target == STANDARD:
            continue
        if not target.absolute().parent.is_dir():
            raise ConfigError(f"cannot write {target}: there is no folder {target.parent}")
        for source in read:
            if source != STANDARD:
                refuse_overwriting(source, target)


def _tuner(tuned: Tuned, searching: Searching) -> Tuner:
    """Return a tuner; a name or value that does not exist is an error."""
    from multitudes.tuning import Tuner, TuningConfig, parse_search

    tuner = Tuner(
        tuned.tagger(),
        metric=searching.metric,
        budget=searching.budget,
        search=None if searching.search is None else parse_search(searching.search),
        study=searching.study,
        config=TuningConfig(
            n_trials=searching.n_trials,
            most_parts=searching.most_parts,
            random_state=tuned.random_state,
        ),
    )
    tuner.check()
    return tuner


def _part(name: str, given: str | None, reading: TolerantReading) -> Any:
    """Return the share to hold out, or the data of a file."""
    if given is None:
        return None
    share = share_of(given, f"--{name}")
    if share is not None:
        return share
    split = {"validation": "dev", "test": "tst"}[name]
    return reading.dataset(Path(given), split=split, require_labels=True)


def _left(budget: Any, started: float, *, drawing: bool) -> float:
    """Return what reading the data has left of the time, and drawing will leave."""
    from multitudes.tagger.auto.deadline import seconds_of

    whole = seconds_of(budget)
    reserve = min(SECONDS_TO_DRAW, 0.1 * whole) if drawing else 0.0
    return max(whole - reserve - (time.monotonic() - started), 0.01)


def _command(result: TuningResult, data: Path, reading: TolerantReading) -> str:
    """Return the command that trains with what was found, on data that is read as here."""
    words = [result.command(str(data))]
    if reading.format is not None:
        words.append(f"--format {shlex.quote(reading.format)}")
    words += [f"--read {shlex.quote(one)}" for one in reading.read or []]
    if reading.on_error != "raise":
        words.append(f"--on-error {shlex.quote(reading.on_error)}")
    return " ".join(words)


def _write(found: dict[str, Any], out: Path) -> None:
    import orjson

    with output(out) as file:
        file.write(orjson.dumps(found, option=orjson.OPT_INDENT_2) + b"\n")


def _show(result: TuningResult, command: str, found: dict[str, Any] | None, *, quiet: bool) -> None:
    """Print the result, as JSON if that was asked for; nothing if stdout has it already."""
    from multitudes.cli.printing.show import console, say, show_json, table

    if quiet:
        return
    if found is not None:
        show_json(found)
        return
    header, *rows = result.rows()
    console().print(table(header, rows, left=2))
    say("\n" + "\n".join(result.remarks()))
    typer.echo(f"\n{command}")


def _resumable(study: Path | None) -> str:
    if study is None:
        return "stopped; with --study FILE a search can go on later"
    return f"stopped; the finished trials are in {study}: the same command goes on from there"
