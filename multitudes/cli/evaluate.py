"""multitudes evaluate and compare: predictions and truth to numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from multitudes.cli import options
from multitudes.cli.files.streams import STANDARD, Reading, local_path, remark
from multitudes.cli.sharded.verbs import cluster_at, is_sharded, measure_shards
from multitudes.errors import ConfigError

if TYPE_CHECKING:
    from multitudes.data import Aligned, Dataset, PredictionFile
    from multitudes.metrics import Comparison, Report
    from multitudes.tagger import Tagger

    Noted = TypeVar("Noted", Report, Comparison)


def evaluate(
    predictions: Annotated[
        Path, typer.Argument(help="Prediction file (- is stdin), or folder of a model.")
    ],
    truth: Annotated[Path, typer.Argument(help="The data with the right labels.")],
    measuring: options.Measuring = options.Measuring(),
    sets: Annotated[
        bool,
        typer.Option("--sets", help="Take the predictions as sets: precision, recall and F1."),
    ] = False,
    intervals: options.Intervals = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE.png",
            help="Draw how reliable scores are and, with --train, which labels are found.",
        ),
    ] = None,
    reading: Reading = Reading(),
    ray: options.Ray = None,
    json: options.Json = False,
) -> None:
    """Score predictions against the truth: P@k, nDCG@k, PSP@k...

    Example:  multitudes evaluate predictions.jsonl test.jsonl --train train.jsonl
    """
    from multitudes import progress
    from multitudes.cli.printing.plots import check_plot, plot_evaluation
    from multitudes.cli.printing.show import show_json, show_report
    from multitudes.tagger.evaluation import evaluate_aligned

    check_plot(plot)
    if sets and measuring.ks is not None:
        raise ConfigError(
            f"--ks {measuring.ks} is for ranked labels, and --sets measures whole sets: "
            "leave out one"
        )
    cutoffs, constants = measuring.cutoffs(), measuring.constants()
    if is_sharded(truth, on_cluster=ray is not None):
        refused = {
            "--sets": sets, "--intervals": intervals, "--plot": plot, "--train": measuring.train,
            "--known-labels": measuring.known_labels, "--model": measuring.model,
        }  # fmt: skip
        with progress.shown(not reading.quiet), cluster_at(ray):
            report = measure_shards(
                predictions, truth, ks=cutoffs, skip_empty=measuring.skip_empty, reading=reading,
                refused=refused,
            )  # fmt: skip
        report = in_flags(report)
        show_json(report.to_dict()) if json else show_report(report)
        return
    with progress.shown(not reading.quiet):
        aligned = aligned_files([predictions], truth, measuring, reading, sets=sets)
        report = evaluate_aligned(
            aligned,
            ks=cutoffs,
            propensity=constants,
            sets=sets,
            skip_empty=measuring.skip_empty,
            resampling=measuring.resampling() if intervals else None,
        )
    report = in_flags(report)
    if plot is not None:
        plot_evaluation(plot, aligned, report)
        if not reading.quiet:
            remark(f"drawn to {plot}")
    if json:
        show_json(report.to_dict())
    else:
        show_report(report)


def compare(
    a: Annotated[Path, typer.Argument(help="One prediction file, or model.")],
    b: Annotated[Path, typer.Argument(help="The other prediction file, or model.")],
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
    from multitudes.cli.printing.show import show_comparison, show_json
    from multitudes.tagger.evaluation import weights

    cutoffs, constants = measuring.cutoffs(), measuring.constants()
    with progress.shown(not reading.quiet):
        aligned = aligned_files([a, b], truth, measuring, reading)
        comparison = metrics.compare(
            aligned.predictions[0],
            aligned.predictions[1],
            aligned.truth.Y,
            ks=cutoffs,
            inverse_propensity=weights(aligned, constants),
            skip_empty=measuring.skip_empty,
            resampling=measuring.resampling(),
        )
    comparison = in_flags(comparison.with_unknown(aligned.unknown))
    if json:
        show_json(comparison.to_dict())
    else:
        show_comparison(comparison, (str(a), str(b)))


def aligned_files(
    files: list[Path],
    truth: Path,
    measuring: options.Measuring,
    reading: Reading,
    *,
    sets: bool = False,
) -> Aligned:
    """Return predictions, truth and training data in one label space, filter applied."""
    from multitudes.data import align
    from multitudes.data.predictions.alignment import with_names
    from multitudes.tagger.evaluation import predictions_of

    models = {path: _load(path, measuring) for path in files if _is_model(path)}
    _check(measuring, models)
    truth_data = reading.dataset(truth, split="tst", require_labels=True)
    train = measuring.train
    train_data = None if train is None else reading.dataset(train, split="trn")
    for tagger in models.values():
        truth_data = with_names(truth_data, tagger.classes_)
        train_data = None if train_data is None else with_names(train_data, tagger.classes_)
    top_k = None if sets else max(measuring.cutoffs())
    read = [
        predictions_of(models[path], truth_data, top_k=top_k, path=path)
        if path in models
        else _read(path, quiet=reading.quiet)
        for path in files
    ]
    aligned = align(read, truth_data, train=train_data).without_filter_pairs(measuring.filter)
    return _held_to_known(aligned, measuring, list(models.values()), train_data)


def _check(measuring: options.Measuring, models: dict[Path, Tagger]) -> None:
    """Refuse options that cannot be met, before any work."""
    told = bool(models) or measuring.model is not None or measuring.train is not None
    if measuring.known_labels and not told:
        raise ConfigError(
            "--known-labels needs to know which labels the model knows, and a prediction file does "
            "not say: add --model MODEL, or --train DATA for the labels of the training data"
        )
    if models and measuring.filter == "none":
        raise ConfigError(
            "--filter none is for prediction files: a model does not predict filter pairs"
        )


def _held_to_known(
    aligned: Aligned, measuring: options.Measuring, models: list[Tagger], train: Dataset | None
) -> Aligned:
    """Count labels that the models, or else the training data, do not have; or leave them out."""
    from multitudes.data import LabelSpace

    if measuring.model is not None:
        models = [*models, _load(measuring.model, measuring)]
    leave_out = measuring.known_labels
    if models:
        known = [name for tagger in models for name in tagger.classes_]
        return aligned.held_to(known, leave_out=leave_out)
    if train is None:
        return aligned
    names = LabelSpace.of(train).names
    return aligned.held_to(names, leave_out=leave_out, known_by="the training data")


def _is_model(path: Path) -> bool:
    from multitudes.store.manifest import MANIFEST

    return (path / MANIFEST).is_file()


def _load(path: Path, measuring: options.Measuring) -> Tagger:
    return options.Computing(verify=measuring.verify).load(path)


def _read(path: Path, *, quiet: bool) -> PredictionFile:
    from multitudes.data import read_prediction_file

    with local_path(path) as file:
        found = read_prediction_file(file)
    if not found.ordered and not quiet:
        remark(f"{path} does not say which label is best: ties go to the smaller label id")
    return replace(found, path=Path("stdin") if path == STANDARD else path)


def in_flags(result: Noted, *, skip_empty: str = "--skip-empty") -> Noted:
    """Return a report whose notes speak of options of the command line, not of Python's."""
    words = {"known_labels=True": "--known-labels", "skip_empty=True": skip_empty}
    notes = result.notes
    for python, option in words.items():
        notes = tuple(note.replace(python, option) for note in notes)
    return replace(result, notes=notes)
