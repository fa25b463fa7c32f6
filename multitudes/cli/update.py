"""multitudes update: new instances, new labels and fewer labels for a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multitudes.cli import options
from multitudes.cli.files.streams import TolerantReading, remark
from multitudes.errors import ConfigError

if TYPE_CHECKING:
    from multitudes.data import Dataset
    from multitudes.tagger import Tagger, UpdateReport


def update(
    model: Annotated[Path, typer.Argument(help="Folder of the model.")],
    data: Annotated[
        Path | None, typer.Argument(help="New labeled data to learn from; - is stdin.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for the updated model; MODEL by default."),
    ] = None,
    remove_labels: Annotated[
        str | None,
        typer.Option(
            "--remove-labels",
            metavar="FILE|NAME,...",
            help="Forget these labels: a file with one on each line, or names.",
        ),
    ] = None,
    calibrate: Annotated[
        Path | None,
        typer.Option(
            "--calibrate",
            metavar="DATA",
            help="Calibrate again on this labeled data, which is not learned from.",
        ),
    ] = None,
    force: options.Force = False,
    computing: options.Computing = options.Computing(),
    reading: TolerantReading = TolerantReading(),
    json: options.Json = False,
) -> None:
    """Teach a model new instances and new labels, without training it again.

    The model is replaced in one step, or -o gets the new one. Words that no text had when it was
    trained stay unknown, and its calibration is discarded: --calibrate makes a new one.

    Example:  multitudes update model new.jsonl
    """
    from multitudes import progress
    from multitudes.cli.cards import note
    from multitudes.cli.files.targets import may_replace
    from multitudes.store.folder import check_target, writing
    from multitudes.tagger.reports.card import ModelCard
    from multitudes.tagger.updating import update_tagger

    if data is None and remove_labels is None:
        raise ConfigError("update needs data or --remove-labels: multitudes update MODEL DATA")
    target = model if out is None else out
    check_target(target)
    if out is not None and out.resolve() != model.resolve():
        may_replace(out, force=force)
    with writing(target), progress.shown(not reading.quiet):
        card = ModelCard.read(model)
        tagger = computing.load(model)
        removed = _removed(tagger, remove_labels, quiet=reading.quiet)
        # Over its own labels.
        dataset = None if data is None else _read(reading, data)
        config = None if tagger.calibrated_ is None else tagger.calibrated_.config
        report = update_tagger(tagger, dataset, remove=removed)
        if calibrate is not None:
            held_out = reading.dataset(calibrate, split="dev", require_labels=True)
            tagger.calibrate(held_out, **({} if config is None else {"config": config}))
        tagger.save(target)
        learned = None if data is None or dataset is None else (data, dataset)
        notes = report.sentences()
        if tagger.calibrated_ is not None:
            notes.append(f"{calibrate}: {tagger.calibration_report()}")
        note("update", target, data=learned, notes=notes, before=card)
    _show(tagger, report, model, target, json=json, quiet=reading.quiet)


def _read(reading: TolerantReading, data: Path) -> Dataset:
    """Read labeled data; of corrections that a server kept, the last of each text."""
    from multitudes.data.predictions.corrections import is_corrections, latest

    dataset = reading.dataset(data, require_labels=True)
    if not is_corrections(data):
        return dataset
    kept = latest(dataset)
    if len(kept) < len(dataset) and not reading.quiet:
        remark(f"{data}: {len(kept):,} texts, of {len(dataset):,} corrections")
    return kept


def _removed(tagger: Tagger, given: str | None, *, quiet: bool) -> list[str]:
    from multitudes.cli.files.label_lists import listed_labels

    if given is None:
        return []
    return listed_labels(given, tagger.classes_, option="--remove-labels", quiet=quiet)


def _show(
    tagger: Tagger, report: UpdateReport, model: Path, target: Path, *, json: bool, quiet: bool
) -> None:
    from multitudes.cli.printing.show import say, show_json

    calibrated = tagger.calibrated_ is not None
    if json:
        show_json({"model": str(target), **report.to_dict(), "calibrated": calibrated})
        return
    say(str(report))
    if calibrated:
        say(f"calibrated again: {tagger.calibration_report()}")
    elif report.calibration_lost:
        say(
            "for --proba and --sets, calibrate it again on labeled data that it has not learned: "
            f"multitudes calibrate {target} DATA"
        )
    if not quiet:
        in_place = target.resolve() == model.resolve()
        remark(
            f"{target}: updated in place" if in_place else f"{model}, updated, saved to {target}"
        )
