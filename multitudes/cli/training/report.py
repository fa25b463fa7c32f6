"""What a training came to, for people and for programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from multitudes.cli.calibrate import how_sets_are_made
from multitudes.cli.files.streams import remark

if TYPE_CHECKING:
    from multitudes.data import Dataset
    from multitudes.metrics import Report
    from multitudes.tagger import Tagger


class Trained(NamedTuple):
    """What came of a training; `held_out` is None where the model was trained on it after all."""

    tagger: Tagger
    dataset: Dataset
    held_out: Dataset | None
    folder: Path
    seconds: float
    reports: dict[str, Report]


def show_as_json(trained: Trained) -> None:
    """Print what programs want to know."""
    from multitudes.cli.printing.show import show_json
    from multitudes.tagger.training import training_notes

    tagger = trained.tagger
    result: dict[str, Any] = {
        "model": str(trained.folder),
        "choice": tagger.choice_,
        "n_instances": len(trained.dataset),
        "n_labels": trained.dataset.n_labels,
        "seconds": trained.seconds,
    }
    if tagger.auto_report_ is not None:
        result["auto"] = tagger.auto_report_.to_dict()
    if tagger.group_report_ is not None:
        result["groups"] = tagger.group_report_.to_dict()
    if tagger.calibrated_ is not None:
        result["calibration"] = vars(tagger.calibration_report())
    notes = training_notes(tagger.model_)
    if notes:
        result["notes"] = notes
    show_json(result | {name: report.to_dict() for name, report in trained.reports.items()})


def show(trained: Trained, *, quiet: bool) -> None:
    """Remark on the training, and print the metrics."""
    from multitudes.cli.printing.show import show_report
    from multitudes.tagger.training import training_notes

    tagger = trained.tagger
    if not quiet:
        if tagger.group_report_ is not None:
            remark(str(tagger.group_report_))
        for note in training_notes(tagger.model_):
            remark(note)
        if tagger.calibrated_ is not None:
            remark(f"{tagger.calibration_report()}\n{how_sets_are_made(tagger)}")
        remark(f"trained in {trained.seconds:.1f} s, saved to {trained.folder}")
    for name, report in trained.reports.items():
        was_refitted = name == "validation" and trained.held_out is None
        of_which = " (of the model before it was trained on all data)" if was_refitted else ""
        typer.echo(f"{name}{of_which}:")
        show_report(report)
