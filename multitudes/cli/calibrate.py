"""multitudes calibrate: labeled data to probabilities and label sets of a model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multitudes.cli import options
from multitudes.cli.files.streams import TolerantReading, remark
from multitudes.cli.verb import from_config

if TYPE_CHECKING:
    from multitudes.tagger import Tagger

CONFIG = "multitudes.scores.calibrated:CalibrationConfig"


@dataclass(frozen=True)
class Calibrating:
    """The settings of a calibration; None is the default of `CalibrationConfig`."""

    method: Annotated[
        str | None,
        typer.Option(
            "--method", metavar="isotonic|temperature", help=from_config(CONFIG, "method")
        ),
    ] = None
    sets: Annotated[
        str | None,
        typer.Option(
            "--sets",
            metavar="threshold|label-thresholds|expected-f1",
            help=from_config(CONFIG, "sets"),
        ),
    ] = None
    metric: Annotated[
        str | None,
        typer.Option("--metric", metavar="micro|example", help=from_config(CONFIG, "metric")),
    ] = None
    min_size: Annotated[
        int | None, typer.Option("--min-size", min=0, help=from_config(CONFIG, "min_size"))
    ] = None
    candidates: Annotated[
        int | None, typer.Option("--candidates", min=1, help=from_config(CONFIG, "candidates"))
    ] = None


def calibrate(
    model: Annotated[Path, typer.Argument(help="Folder of the model.")],
    data: Annotated[
        Path, typer.Argument(help="Labeled data that it was not trained on; - is stdin.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for the calibrated model; MODEL by default."),
    ] = None,
    force: options.Force = False,
    calibrating: Calibrating = Calibrating(),
    computing: options.Computing = options.Computing(),
    reading: TolerantReading = TolerantReading(),
    json: options.Json = False,
) -> None:
    """Learn probabilities and label sets, for predict --proba and predict --sets.

    MODEL is rewritten in place, in one step, unless -o names another folder.

    Example:  multitudes calibrate model validation.jsonl
    """
    from multitudes import progress
    from multitudes.cli.cards import note
    from multitudes.cli.files.targets import may_replace
    from multitudes.cli.printing.show import say, show_json
    from multitudes.data.predictions.alignment import over_names
    from multitudes.scores.calibrated import CalibrationConfig
    from multitudes.store.folder import check_target, writing
    from multitudes.tagger.reports.card import ModelCard

    given = {name: value for name, value in asdict(calibrating).items() if value is not None}
    config = CalibrationConfig.from_dict(given)
    target = model if out is None else out
    check_target(target)
    in_place = target.resolve() == model.resolve()
    if not in_place:
        may_replace(target, force=force)
    with writing(target), progress.shown(not reading.quiet):
        card = ModelCard.read(model)
        tagger = computing.load(model)
        dataset = reading.dataset(data, split="dev", require_labels=True)
        dataset = over_names(dataset, tagger.classes_)
        report = tagger.calibrate(dataset, config=config).calibration_report()
        tagger.save(target)
        notes = [str(report), how_sets_are_made(tagger)]
        note("calibrate", target, data=(data, dataset), notes=notes, before=card)
    if json:
        show_json({"model": str(target), **vars(report), "sets": rule_of(tagger)})
    else:
        say("\n".join(notes))
    if not reading.quiet:
        remark(f"{target}: rewritten in place" if in_place else f"saved to {target}")


def rule_of(tagger: Tagger) -> str:
    """Return the rule that makes sets, or "generated"."""
    from multitudes.scores.calibrated import DEFAULT_RULE

    assert tagger.calibrated_ is not None
    return "generated" if tagger.generates_sets else tagger.calibrated_.config.sets or DEFAULT_RULE


def how_sets_are_made(tagger: Tagger) -> str:
    """Return a sentence about what predict --sets will do."""
    if tagger.generates_sets:
        return "sets: as the model generates them; --sets RULE makes them of its ranking instead"
    assert tagger.calibrated_ is not None
    made = f"sets: by {rule_of(tagger)}, tuned for {tagger.calibrated_.config.metric} F1"
    report = tagger.calibration_report()
    if not report.n_empty:
        return made
    return (
        f"{made}; {report.n_empty:,} of {report.n_instances:,} instances get none, "
        "calibrate --min-size 1 gives each its best label"
    )
