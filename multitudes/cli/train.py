"""multitudes train: data to a model folder."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from multitudes.cli import options
from multitudes.cli.streams import Reading, remark
from multitudes.errors import ConfigError, DataError

if TYPE_CHECKING:
    from multitudes.data import Dataset
    from multitudes.metrics import Report
    from multitudes.tagger import Tagger


def _models() -> list[tuple[str, str]]:
    from multitudes.tagger.presets import PRESETS

    return [("auto", "chosen by the size of the data")] + [
        (preset.name, preset.summary) for preset in PRESETS.values()
    ]


def _features() -> list[tuple[str, str]]:
    return [
        ("tfidf", "words, weighted"),
        ("tfidf,encoder:", "words beside the embeddings of a saved text encoder"),
        ("encoder:", "embeddings of a saved text encoder"),
        ("hashing", "words, hashed: no vocabulary is kept"),
    ]


def train(
    data: Annotated[
        Path | None, typer.Argument(help="File or folder to learn from; - is stdin.")
    ] = None,
    model_folder: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder of the model.")
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            autocompletion=_models,
            help="xr-linear, parabel, one-vs-all; a text encoder such as prime or prime-lite; "
            "otseq2set, which writes label sets; or auto to choose among the first three by size.",
        ),
    ] = "auto",
    features: Annotated[
        str | None,
        typer.Option(
            "--features",
            metavar="NAME,...",
            autocompletion=_features,
            help="What models over features learn from: tfidf (the default), hashing, "
            "encoder:FOLDER for embeddings of a saved text encoder; several side by side.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting of the model, e.g. branching=8 or features.min_df=2; "
            "--list-settings shows all. May be repeated, or followed by several.",
        ),
    ] = None,
    groups: options.Groups = None,
    overlap: Annotated[
        int | None,
        typer.Option(
            "--overlap",
            min=1,
            help="Leaves of a tree that a label may live in, for ambiguous labels: try 2.",
        ),
    ] = None,
    test: Annotated[
        Path | None, typer.Option("--test", help="Data to evaluate the model on afterwards.")
    ] = None,
    validation: Annotated[
        str | None,
        typer.Option(
            "--validation",
            metavar="SHARE|FILE",
            help="Hold this share of the data out, e.g. 0.1, or take this file, to evaluate and "
            "calibrate on; a text encoder also keeps its best epoch by it.",
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            help="Folder to save to during a long training; the same command goes on from there.",
        ),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            "--ray",
            metavar="ADDRESS",
            help="Train trees on all machines of the Ray cluster there; auto is the cluster that "
            "this machine belongs to.",
        ),
    ] = None,
    device: options.Device = None,
    random_state: options.Seed = 0,
    threads: options.Threads = None,
    format: options.Format = None,
    on_error: options.OnError = "raise",
    read: options.Read = None,
    list_settings: Annotated[
        bool, typer.Option("--list-settings", help="Show the settings of --model, and stop.")
    ] = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Learn from labeled texts (or features) and save the model.

    Example:  multitudes train train.jsonl -o model --model xr-linear
    """
    if list_settings:
        show_settings(model, features, json=json)
        return
    if data is None or model_folder is None:
        raise ConfigError("train needs data and a place: multitudes train DATA -o MODEL")
    from multitudes import progress
    from multitudes.store.folder import check_target, check_writable
    from multitudes.tagger import Tagger, parse_settings
    from multitudes.tagger.learning import clear_checkpoint

    chosen = parse_settings(settings or []) | ({} if overlap is None else {"overlap": overlap})
    tagger = Tagger(
        model,
        features=features,
        settings=chosen,
        random_state=random_state,
        n_jobs=threads,
        device=device,
    )
    tagger.check()  # before the work, not after
    check_target(model_folder)
    if checkpoint is not None:
        check_writable(checkpoint)
    reading = Reading(format, read or [], on_error, quiet)
    with progress.shown(not quiet), _cluster(ray, model):
        whole = reading.read(data, group_labels=groups)
        dataset, held_out = _split(
            whole, validation, random_state, reading, from_groups=groups is not None
        )
        started = time.perf_counter()
        tagger.fit_dataset(
            dataset,
            from_groups=True if groups is not None else None,
            validation=held_out,
            checkpoint=checkpoint,
        )
        seconds = time.perf_counter() - started
        if held_out is not None:
            _calibrate(tagger, held_out)
        tagger.save(model_folder)
        if checkpoint is not None:
            clear_checkpoint(tagger.model_, checkpoint)
        reports = _reports(tagger, dataset, held_out, test, reading)
    if json:
        _show_json(tagger, dataset, model_folder, seconds, reports)
    else:
        _show(tagger, dataset, model_folder, seconds, reports, quiet=quiet)


def _cluster(address: str | None, model: str) -> AbstractContextManager[None]:
    """The cluster to train on; this machine alone where none is asked for."""
    if address is None:
        return nullcontext()
    from multitudes.engine import ray_cluster
    from multitudes.tagger.presets import AUTO, preset

    if model != AUTO and preset(model).reads == "texts":
        raise ConfigError(
            f"--ray is for trees, and {model} is none: leave --ray out, and train on this machine"
        )
    return ray_cluster(address)


def _share(validation: str) -> float | None:
    """The number in --validation; None where it names a file."""
    try:
        share = float(validation)
    except ValueError:
        return None
    if not 0 < share < 1:
        raise ConfigError(
            f"--validation must be a share between 0 and 1, or a file, got {validation}"
        )
    return share


def _split(
    dataset: Dataset,
    validation: str | None,
    random_state: int,
    reading: Reading,
    *,
    from_groups: bool,
) -> tuple[Dataset, Dataset | None]:
    """What to learn from, and what to validate on."""
    if validation is None:
        return dataset, None
    from multitudes.data import LabelSpace, split
    from multitudes.data.groups import without_groups_of

    share = _share(validation)
    if share is None:
        labels = LabelSpace.of(dataset)
        return dataset, reading.read(Path(validation), labels=labels, split="dev")
    if not from_groups:
        return split(dataset, test_size=share, random_state=random_state)
    if not dataset.Y.nnz:
        raise ConfigError(
            "--validation needs instances whose own labels are known, and with --groups these "
            "have none: evaluate on labeled data with --test"
        )
    # Whole groups, so that none is learned from without some of its instances.
    train, held_out = split(dataset, test_size=share, by="group", random_state=random_state)
    return without_groups_of(train, held_out), held_out


def _calibrate(tagger: Tagger, held_out: Dataset) -> None:
    """Probabilities and label sets; without them a model is still worth saving."""
    try:
        tagger.calibrate(held_out)
    except DataError as error:
        remark(f"not calibrated: {error}")


def _reports(
    tagger: Tagger, dataset: Dataset, held_out: Dataset | None, test: Path | None, reading: Reading
) -> dict[str, Report]:
    """Metrics on the parts that were not learned from."""
    from multitudes.data import LabelSpace
    from multitudes.tagger import evaluate_on

    parts = {} if held_out is None else {"validation": held_out}
    if test is not None:
        parts["test"] = reading.read(test, labels=LabelSpace.of(dataset), split="tst")
    return {name: evaluate_on(tagger, part) for name, part in parts.items()}


def _show_json(
    tagger: Tagger, dataset: Dataset, folder: Path, seconds: float, reports: dict[str, Report]
) -> None:
    from multitudes.cli.show import show_json
    from multitudes.tagger.training_notes import training_notes

    result: dict[str, Any] = {
        "model": str(folder),
        "choice": tagger.choice_,
        "n_instances": len(dataset),
        "n_labels": dataset.n_labels,
        "seconds": seconds,
    }
    if tagger.group_report_ is not None:
        result["groups"] = tagger.group_report_.to_dict()
    if tagger.calibrated_ is not None:
        result["calibration"] = vars(tagger.calibration_report())
    notes = training_notes(tagger.model_)
    if notes:
        result["notes"] = notes
    show_json(result | {name: report.to_dict() for name, report in reports.items()})


def _show(
    tagger: Tagger,
    dataset: Dataset,
    folder: Path,
    seconds: float,
    reports: dict[str, Report],
    *,
    quiet: bool,
) -> None:
    from multitudes.cli.show import show_report
    from multitudes.tagger.training_notes import training_notes

    if not quiet:
        remark(f"{dataset!r}\nmodel: {tagger.choice_}")
        if tagger.group_report_ is not None:
            remark(str(tagger.group_report_))
        for note in training_notes(tagger.model_):
            remark(note)
        if tagger.calibrated_ is not None:
            remark(str(tagger.calibration_report()))
        remark(f"trained in {seconds:.1f} s, saved to {folder}")
    for name, report in reports.items():
        typer.echo(f"{name}:")
        show_report(report)


def show_settings(model: str, features: str | None, *, json: bool) -> None:
    """All settings of a preset and its features, from the Config classes."""
    from multitudes.cli.show import console, show_json, table
    from multitudes.tagger import describe_settings
    from multitudes.tagger.group_settings import describe_group_settings
    from multitudes.tagger.named_features import named_features
    from multitudes.tagger.presets import preset

    chosen = preset("xr-linear" if model == "auto" else model)
    own = chosen.make_features() if features is None else named_features(features)
    rows = describe_settings(chosen.make_full_model(), own)
    rows += describe_group_settings()
    if json:
        show_json([{"name": n, "default": value, "help": doc} for n, value, doc in rows])
        return
    typer.echo(f"Settings of {chosen.name}, for --set NAME=VALUE:\n")
    console().print(table(["name", "default", ""], [[n, str(v), d] for n, v, d in rows], left=3))
