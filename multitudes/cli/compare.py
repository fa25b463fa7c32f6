"""multitudes compare: whether one prediction file is better than another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from multitudes.cli import options
from multitudes.cli.streams import Reading


def compare(
    a: Annotated[Path, typer.Argument(help="One prediction file.")],
    b: Annotated[Path, typer.Argument(help="The other prediction file.")],
    truth: Annotated[Path, typer.Argument(help="The data with the right labels.")],
    ks: options.Cutoffs = None,
    train: options.TrainData = None,
    propensity: options.Propensity = "default",
    filter: options.Filter = "predictions",
    skip_empty: options.SkipEmpty = False,
    resamples: options.Resamples = 1000,
    confidence: options.Confidence = 0.95,
    random_state: options.Seed = 0,
    format: options.Format = None,
    read: options.Read = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Test whether one prediction file beats another.

    Shows both values of each metric, their difference with its interval, and a p-value.

    Example:  multitudes compare new.jsonl old.jsonl test.jsonl
    """
    from multitudes import metrics, progress
    from multitudes.cli.evaluate import aligned_files, cutoffs, propensities
    from multitudes.cli.show import show_comparison, show_json

    with progress.shown(not quiet):
        reading = Reading(format, read or [], quiet=quiet)
        aligned = aligned_files([a, b], truth, train, filter, reading)
        comparison = metrics.compare(
            aligned.predictions[0],
            aligned.predictions[1],
            aligned.truth.Y,
            ks=cutoffs(ks),
            inverse_propensity=propensities(aligned, propensity),
            skip_empty=skip_empty,
            resampling=metrics.Resampling(resamples, confidence, random_state),
        )
    if json:
        show_json(comparison.to_dict())
    else:
        show_comparison(comparison, (str(a), str(b)))
