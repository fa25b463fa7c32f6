"""multitudes evaluate: predictions and truth to numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multitudes.cli import options
from multitudes.cli.streams import STANDARD, Reading, local_path, remark
from multitudes.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from multitudes.tagger import Aligned


def evaluate(
    predictions: Annotated[Path, typer.Argument(help="Prediction file; - is stdin.")],
    truth: Annotated[Path, typer.Argument(help="The data with the right labels.")],
    ks: options.Cutoffs = None,
    train: options.TrainData = None,
    propensity: options.Propensity = "default",
    filter: options.Filter = "predictions",
    skip_empty: options.SkipEmpty = False,
    sets: Annotated[
        bool,
        typer.Option("--sets", help="Take the predictions as sets: precision, recall and F1."),
    ] = False,
    intervals: options.Intervals = False,
    resamples: options.Resamples = 1000,
    confidence: options.Confidence = 0.95,
    random_state: options.Seed = 0,
    format: options.Format = None,
    read: options.Read = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Score predictions against the truth: P@k, nDCG@k, PSP@k...

    Example:  multitudes evaluate predictions.jsonl test.jsonl --train train.jsonl
    """
    from multitudes import metrics, progress
    from multitudes.cli.show import show_json, show_report

    if sets and ks is not None:
        raise ConfigError(
            f"--ks {ks} is for ranked labels, and --sets measures whole sets: leave out one"
        )
    with progress.shown(not quiet):
        reading = Reading(format, read or [], quiet=quiet)
        aligned = aligned_files([predictions], truth, train, filter, reading)
        resampling = metrics.Resampling(resamples, confidence, random_state) if intervals else None
        if sets:
            report = metrics.evaluate_sets(
                aligned.predictions[0], aligned.truth.Y,
                skip_empty=skip_empty, resampling=resampling,
            )  # fmt: skip
        else:
            report = metrics.evaluate(
                aligned.predictions[0],
                aligned.truth.Y,
                ks=cutoffs(ks),
                inverse_propensity=propensities(aligned, propensity),
                frequency_bins=None
                if aligned.train is None
                else metrics.frequency_bins(aligned.train.Y),
                skip_empty=skip_empty,
                resampling=resampling,
            )
    if json:
        show_json(report.to_dict())
    else:
        show_report(report)


def aligned_files(
    files: list[Path], truth: Path, train: Path | None, filter: str, reading: Reading
) -> Aligned:
    """Prediction files, truth and training data in one label space, filter pairs applied."""
    from multitudes.tagger import align, read_prediction_file

    read = []
    for path in files:
        refuse_model(path, truth)
        with local_path(path) as file:
            found = read_prediction_file(file)
        read.append(replace(found, path=Path("stdin") if path == STANDARD else path))
        if not read[-1].ordered and not reading.quiet:
            remark(f"{path} does not say which label is best: ties go to the smaller label id")
    truth_data = reading.read(truth, split="tst")
    train_data = None if train is None else reading.read(train, split="trn")
    return align(read, truth_data, train=train_data).without_filter_pairs(filter)


def refuse_model(path: Path, truth: Path) -> None:
    """Say what to do with a model where its predictions belong."""
    from multitudes.store.manifest import MANIFEST

    if (path / MANIFEST).is_file():
        raise ConfigError(
            f"{path} is a model, not predictions: run 'multitudes predict {path} {truth} -o "
            "predictions.jsonl' first"
        )


def propensities(aligned: Aligned, name: str) -> npt.NDArray[np.float64] | None:
    """Inverse propensities by the training data, where given; `name` is a preset or "A,B"."""
    from multitudes import metrics

    if aligned.train is None:
        return None
    if "," in name:
        try:
            a, b = (float(part) for part in name.split(","))
        except ValueError:
            raise ConfigError(f"--propensity takes two numbers A,B, got {name!r}") from None
    else:
        a, b = metrics.propensity_preset(name)
    return metrics.inverse_propensity(aligned.train.Y, a=a, b=b)


def cutoffs(ks: str | None) -> list[int]:
    """The numbers in "1,3,5", which it is where absent."""
    try:
        return [int(k) for k in (ks or options.CUTOFFS).split(",")]
    except ValueError:
        raise ConfigError(f"--ks takes whole numbers and commas, e.g. 1,3,5, got {ks!r}") from None
