"""multitudes train: data to a model folder."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from multitudes.cli import options
from multitudes.cli.streams import Reading, TolerantReading, remark
from multitudes.cli.training.holding_out import hold_out, share_of
from multitudes.cli.training.model_help import show_settings
from multitudes.cli.training.report import Trained, show, show_as_json
from multitudes.cli.verb import from_function
from multitudes.errors import ConfigError, DataError

REFIT = "refit"  # folder in that of the checkpoint

if TYPE_CHECKING:
    from multitudes.data import Dataset
    from multitudes.metrics import Report
    from multitudes.tagger import Tagger


def _models() -> list[tuple[str, str]]:
    from multitudes.models.lookup import summaries

    return [("auto", "chosen by the size of the data"), *summaries()]


def _features() -> list[tuple[str, str]]:
    from multitudes.models.features import feature_summaries

    return feature_summaries()


@dataclass(frozen=True)
class Choosing:
    """What the model is made of."""

    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            autocompletion=_models,
            help=from_function("multitudes.cli.training.model_help:models_help"),
        ),
    ] = "auto"
    features: Annotated[
        str | None,
        typer.Option(
            "--features",
            metavar="NAME,...",
            autocompletion=_features,
            help=from_function("multitudes.cli.training.model_help:features_help"),
        ),
    ] = None
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting of the model, e.g. branching=8 or features.min_df=2; "
            "--list-settings shows all. May be repeated, or followed by several.",
        ),
    ] = None
    overlap: Annotated[
        int | None,
        typer.Option(
            "--overlap",
            min=1,
            help="Leaves of a tree that a label may live in; auto takes 2 for large label sets.",
        ),
    ] = None
    device: options.Device = None
    random_state: options.Seed = 0
    threads: options.Threads = None

    def tagger(self) -> Tagger:
        """Return an unfitted tagger; a name or setting that does not exist is an error."""
        from multitudes.tagger import Tagger, parse_settings

        overlap = {} if self.overlap is None else {"overlap": self.overlap}
        tagger = Tagger(
            self.model,
            features=self.features,
            settings=parse_settings(self.settings or []) | overlap,
            random_state=self.random_state,
            n_jobs=self.threads,
            device=self.device,
        )
        tagger.check()  # before the work, not after
        return tagger


@dataclass(frozen=True)
class Training:
    """What the model learns from and is measured on, and where."""

    groups: options.Groups = None
    test: Annotated[
        Path | None, typer.Option("--test", help="Data to evaluate the model on afterwards.")
    ] = None
    known_labels: options.KnownLabels = False
    validation: Annotated[
        str | None,
        typer.Option(
            "--validation",
            metavar="SHARE|FILE",
            help="Hold this share of the data out, e.g. 0.1, or take this file, to evaluate and "
            "calibrate on; a text encoder also keeps its best epoch by it.",
        ),
    ] = None
    refit: Annotated[
        bool,
        typer.Option(
            "--refit",
            help="After --validation SHARE, train again on all data: as many epochs as were best, "
            "with the probabilities learned before.",
        ),
    ] = False
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            help="Folder to save to during a long training; the same command goes on from there.",
        ),
    ] = None
    ray: Annotated[
        str | None,
        typer.Option(
            "--ray",
            metavar="ADDRESS",
            help="Train trees on all machines of the Ray cluster there; auto is the cluster that "
            "this machine belongs to.",
        ),
    ] = None

    def check(self) -> None:
        """Refuse what does not go together."""
        if self.refit and (self.validation is None or share_of(self.validation) is None):
            raise ConfigError(
                "--refit trains on what --validation SHARE held out, e.g. --validation 0.1 --refit"
            )


def train(
    data: Annotated[
        Path | None, typer.Argument(help="File or folder to learn from; - is stdin.")
    ] = None,
    model_folder: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder of the model.")
    ] = None,
    choosing: Choosing = Choosing(),
    training: Training = Training(),
    reading: TolerantReading = TolerantReading(),
    list_settings: Annotated[
        bool, typer.Option("--list-settings", help="Show the settings of --model, and stop.")
    ] = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Learn from labeled texts (or features) and save the model.

    Example:  multitudes train train.jsonl -o model --model xr-linear
    """
    if list_settings:
        show_settings(choosing.model, choosing.features, json=json)
        return
    if data is None or model_folder is None:
        raise ConfigError("train needs data and a place: multitudes train DATA -o MODEL")
    from multitudes import progress
    from multitudes.cli.targets import may_replace
    from multitudes.store.folder import check_target, check_writable

    training.check()
    check_target(model_folder)
    may_replace(model_folder, force=force)
    if training.checkpoint is not None:
        check_writable(training.checkpoint)
    with progress.shown(not reading.quiet, in_flags=True):
        with progress.track("starting"):  # what has to be imported may take a while
            tagger = choosing.tagger()
        with _cluster(training.ray, choosing.model):
            trained = _trained(tagger, data, model_folder, training, reading)
    if json:
        show_as_json(trained)
    else:
        show(trained, quiet=reading.quiet)


def _trained(
    tagger: Tagger, data: Path, folder: Path, training: Training, reading: TolerantReading
) -> Trained:
    """Read, train, calibrate, save and evaluate."""
    from multitudes.cli.cards import note

    try:
        done = _saved(tagger, data, folder, training, reading)
    except KeyboardInterrupt as stop:  # a network that saved itself says how to go on
        raise KeyboardInterrupt(str(stop) or stopped(training.checkpoint)) from stop
    try:
        parts = _parts(done.held_out, training.test, reading)
        reports = done.reports | _reports(done.tagger, parts, training)
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(f"stopped; the model is saved in {folder}") from stop
    note("train", folder, data=(data, done.dataset), reports=reports, notes=[tagger.choice_])
    return done._replace(reports=reports)


def _saved(
    tagger: Tagger, data: Path, folder: Path, training: Training, reading: TolerantReading
) -> Trained:
    """Read, train, calibrate and save; once more on all data if that was asked for."""
    from multitudes.tagger.refitting import refit
    from multitudes.tagger.training import clear_checkpoint

    whole = reading.dataset(data, group_labels=training.groups, require_labels=True)
    grouped = whole.group_labels is not None and not whole.Y.nnz
    from_groups = training.groups is not None or grouped
    checkpoint = training.checkpoint
    dataset, held_out = hold_out(
        whole, training.validation, tagger.random_state, reading, from_groups=from_groups
    )
    started = time.perf_counter()
    groups_or_none = True if from_groups else None
    tagger.fit(dataset, from_groups=groups_or_none, validation=held_out, checkpoint=checkpoint)
    if held_out is not None:
        _calibrate(tagger, held_out)
    places = [] if checkpoint is None else [checkpoint]
    reports = {}
    if training.refit:
        reports = _reports(tagger, _parts(held_out, None, reading), training)
        places += [] if checkpoint is None else [checkpoint / REFIT]
        tagger = refit(
            tagger, whole, from_groups=groups_or_none, checkpoint=places[-1] if places else None
        )
        dataset, held_out = whole, None
    seconds = time.perf_counter() - started
    tagger.save(folder)
    for place in reversed(places):
        clear_checkpoint(tagger.model_, place)
    return Trained(tagger, dataset, held_out, folder, seconds, reports)


def stopped(checkpoint: Path | None) -> str:
    """Return what to tell a person who stopped a training."""
    if checkpoint is None:
        return "stopped; nothing was saved: with --checkpoint FOLDER a training can be resumed"
    if checkpoint.is_dir() and any(checkpoint.iterdir()):
        return (
            f"stopped; what was finished is saved in {checkpoint}: the same command goes on "
            "from there"
        )
    return f"stopped before anything could be saved in {checkpoint}: the same command begins again"


def _cluster(address: str | None, model: str) -> AbstractContextManager[None]:
    """Return the cluster to train on; by default this machine alone."""
    if address is None:
        return nullcontext()
    from multitudes.engine import ray_cluster
    from multitudes.models import model_spec

    if model != "auto" and not model_spec(model).on_cluster:
        raise ConfigError(
            f"--ray trains label trees, and {model} is not a tree model: leave --ray out, and "
            "train on this machine"
        )
    return ray_cluster(address)


def _calibrate(tagger: Tagger, held_out: Dataset) -> None:
    """Learn probabilities and label sets; without them a model is still worth saving."""
    try:
        tagger.calibrate(held_out)
    except DataError as error:
        remark(f"not calibrated: {error}")


def _parts(held_out: Dataset | None, test: Path | None, reading: Reading) -> dict[str, Dataset]:
    """Return what was not learned from, by name."""
    parts = {} if held_out is None else {"validation": held_out}
    if test is not None:  # over its own labels: those unknown to the model are missed
        parts["test"] = reading.dataset(test, split="tst", require_labels=True)
    return parts


def _reports(tagger: Tagger, parts: dict[str, Dataset], training: Training) -> dict[str, Report]:
    """Return the metrics on each part."""
    from multitudes.cli.evaluate import in_flags
    from multitudes.tagger import evaluate_dataset

    reports = {
        name: evaluate_dataset(tagger, part, known_labels=training.known_labels)
        for name, part in parts.items()
    }
    return {
        name: in_flags(report, skip_empty="evaluate --skip-empty")
        for name, report in reports.items()
    }
