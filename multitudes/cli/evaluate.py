"""multitudes evaluate and compare: predictions and truth to numbers."""

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

    from multitudes.data import Aligned


def evaluate(
    predictions: Annotated[Path, typer.Argument(help="Prediction file; - is stdin.")],
    truth: Annotated[Path, typer.Argument(help="The data with the right labels.")],
    measuring: options.Measuring = options.Measuring(),
    sets: Annotated[
        bool,
        typer.Option("--sets", help="Take the predictions as sets: precision, recall and F1."),
    ] = False,
    intervals: options.Intervals = False,
    reading: Reading = Reading(),
    json: options.Json = False,
) -> None:
    """Score predictions against the truth: P@k, nDCG@k, PSP@k...

    Example:  multitudes evaluate predictions.jsonl test.jsonl --train train.jsonl
    """
    from multitudes import metrics, progress
    from multitudes.cli.show import show_json, show_report

    if sets and measuring.ks is not None:
        raise ConfigError(
            f"--ks {measuring.ks} is for ranked labels, and --sets measures whole sets: "
            "leave out one"
        )
    with progress.shown(not reading.quiet):
        aligned = aligned_files([predictions], truth, measuring, reading)
        found, Y = aligned.predictions[0], aligned.truth.Y
        resampling = measuring.resampling() if intervals else None
        if sets:
            report = metrics.evaluate_sets(
                found, Y, skip_empty=measuring.skip_empty, resampling=resampling
            )
        else:
            train = aligned.train
            report = metrics.evaluate(
                found,
                Y,
                ks=measuring.cutoffs(),
                inverse_propensity=propensities(aligned, measuring.propensity),
                frequency_bins=None if train is None else metrics.frequency_bins(train.Y),
                skip_empty=measuring.skip_empty,
                resampling=resampling,
            )
    if json:
        show_json(report.to_dict())
    else:
        show_report(report)


def compare(
    a: Annotated[Path, typer.Argument(help="One prediction file.")],
    b: Annotated[Path, typer.Argument(help="The other prediction file.")],
    truth: Annotated[Path, typer.Argument(help="The data with the right labels.")],
    measuring: options.Measuring = options.Measuring(),
    reading: Reading = Reading(),
    json: options.Json = False,
) -> None:
    """Test whether one prediction file beats another.

    Shows both values of each metric, their difference with its interval, and a p-value.

    Example:  multitudes compare new.jsonl old.jsonl test.jsonl
    """
    from multitudes import metrics, progress
    from multitudes.cli.show import show_comparison, show_json

    with progress.shown(not reading.quiet):
        aligned = aligned_files([a, b], truth, measuring, reading)
        comparison = metrics.compare(
            aligned.predictions[0],
            aligned.predictions[1],
            aligned.truth.Y,
            ks=measuring.cutoffs(),
            inverse_propensity=propensities(aligned, measuring.propensity),
            skip_empty=measuring.skip_empty,
            resampling=measuring.resampling(),
        )
    if json:
        show_json(comparison.to_dict())
    else:
        show_comparison(comparison, (str(a), str(b)))


def aligned_files(
    files: list[Path], truth: Path, measuring: options.Measuring, reading: Reading
) -> Aligned:
    """Return prediction files, truth and training data in one label space, filter applied."""
    from multitudes.data import align, read_prediction_file

    read = []
    for path in files:
        refuse_model(path, truth)
        with local_path(path) as file:
            found = read_prediction_file(file)
        read.append(replace(found, path=Path("stdin") if path == STANDARD else path))
        if not read[-1].ordered and not reading.quiet:
            remark(f"{path} does not say which label is best: ties go to the smaller label id")
    truth_data = reading.dataset(truth, split="tst")
    train = measuring.train
    train_data = None if train is None else reading.dataset(train, split="trn")
    return align(read, truth_data, train=train_data).without_filter_pairs(measuring.filter)


def refuse_model(path: Path, truth: Path) -> None:
    """Say what to do if a model is given in the place of its predictions."""
    from multitudes.store.manifest import MANIFEST

    if (path / MANIFEST).is_file():
        raise ConfigError(
            f"{path} is a model, not predictions: run 'multitudes predict {path} {truth} -o "
            "predictions.jsonl' first"
        )


def propensities(aligned: Aligned, name: str) -> npt.NDArray[np.float64] | None:
    """Return inverse propensities by the training data, if given; `name` is a preset or "A,B"."""
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
