"""multitudes train: data to a model folder."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from multitudes.cli import options
from multitudes.cli.files.streams import STANDARD, Reading, TolerantReading, remark
from multitudes.cli.sharded.verbs import is_sharded, train_on_shards
from multitudes.cli.training.holding_out import calibrate, hold_out, share_of
from multitudes.cli.training.model_help import show_settings
from multitudes.cli.training.names_alone import saved_by_names
from multitudes.cli.training.processes import Processes, silent
from multitudes.cli.training.report import Trained, show, show_as_json
from multitudes.cli.verb import from_function
from multitudes.errors import ConfigError

REFIT = "refit"  # folder in that of the checkpoint
DEFAULT_BUDGET, NO_BUDGET = "60s", "none"

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
    members: Annotated[
        str | None,
        typer.Option(
            "--members",
            metavar="MODEL[@FEATURES],...",
            help="Train several models as one, in place of --model, e.g. "
            "xr-linear,parabel,xr-linear@chars; they are fused as is best on what is held out "
            "for it. Settings of one: --set parabel.n_trees=5; of fusion: --set fusion=rank.",
        ),
    ] = None
    device: options.Device = None
    random_state: options.Seed = 0
    threads: options.Threads = None

    @property
    def says_nothing(self) -> bool:
        """Whether everything about the model is left to `auto`."""
        said = (self.features, self.settings, self.overlap, self.members)
        return self.model == "auto" and all(one is None for one in said)

    def for_one_process(self) -> dict[str, bool]:
        """Return whether options were given that several processes cannot train by."""
        return {"--members": self.members is not None}

    def tagger(self, *, budget: str | None = None) -> Tagger:
        """Return an unfitted tagger; a name or setting that does not exist is an error."""
        from multitudes.tagger import Tagger, parse_settings

        settings = parse_settings(self.settings or [])
        model: Any = self.model
        if self.members is None:
            settings |= {} if self.overlap is None else {"overlap": self.overlap}
        else:
            model, settings = self._ensemble(settings)
        tagger = Tagger(
            model,
            features=self.features,
            settings=settings,
            random_state=self.random_state,
            n_jobs=self.threads,
            device=self.device,
            budget=budget,
        )
        tagger.check()  # before the work, not after
        return tagger

    def _ensemble(self, settings: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Return the ensemble of --members, and the settings that are its own."""
        from multitudes.fusion import Ensemble
        from multitudes.tagger.members import is_of_member, named_members

        if self.model != "auto":
            raise ConfigError("--members takes the place of --model: leave out one of them")
        if self.features is not None:
            raise ConfigError(
                "--features are those of one model: write them behind each of --members, as in "
                f"xr-linear@{self.features}"
            )
        names = [name.strip() for name in (self.members or "").split(",")]
        of_members = {name: one for name, one in settings.items() if is_of_member(name, names)}
        members = named_members(
            names, settings=of_members, overlap=self.overlap, random_state=self.random_state
        )
        own = {name: one for name, one in settings.items() if name not in of_members}
        return Ensemble(members, random_state=self.random_state), own


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
    label_names: Annotated[
        Path | None,
        typer.Option(
            "--label-names",
            metavar="FILE",
            help="Learn from names of labels alone, in place of DATA: a name on each line, or a "
            "vocabulary (SKOS, or a table of URIs and names).",
        ),
    ] = None
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="With auto: a time to train in, e.g. 10m or 1h30m. Trains what fits in, measures "
            "it on a part held out, and fuses what helps; Ctrl-C ends it earlier. A minute, unless "
            "the model or the training is described otherwise; none for one linear model.",
        ),
    ] = None
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

    def time_for(self, choosing: Choosing) -> str | None:
        """Return the budget: a minute for whoever says nothing about model and training."""
        if self.budget is not None:
            return None if self.budget.strip().lower() == NO_BUDGET else self.budget
        said = (self.groups, self.label_names, self.checkpoint, self.ray)
        is_plain = choosing.says_nothing and not self.refit and all(one is None for one in said)
        return DEFAULT_BUDGET if is_plain else None

    def places(self) -> list[Path]:
        """Return the folders that trainings save to on their way, in their order."""
        if self.checkpoint is None:
            return []
        return [self.checkpoint, self.checkpoint / REFIT] if self.refit else [self.checkpoint]

    def check(self) -> None:
        """Refuse what does not go together."""
        if self.refit and (self.validation is None or share_of(self.validation) is None):
            raise ConfigError(
                "--refit trains on what --validation SHARE held out, e.g. --validation 0.1 --refit"
            )

    def for_one_process(self, data: Path) -> dict[str, bool]:
        """Return whether options were given that several processes cannot train by."""
        said = {"--budget": self.budget, "--label-names": self.label_names, "--ray": self.ray}
        given = {name: value is not None for name, value in said.items()}
        return given | {"data on stdin": data == STANDARD}

    def check_names_alone(self, data: Path | None) -> None:
        """Refuse what is about texts, where there are none to learn from."""
        if data is not None:
            raise ConfigError("--label-names takes the place of DATA: leave one of them out")
        if self.validation is not None and share_of(self.validation) is not None:
            raise ConfigError(
                "--label-names has no texts of which a share could be held out: --validation takes "
                "a file with labeled texts"
            )
        for option, given in (("--groups", self.groups), ("--checkpoint", self.checkpoint)):
            if given is not None:
                raise ConfigError(f"{option} is about training texts, and --label-names has none")


def train(
    data: Annotated[
        Path | None,
        typer.Argument(
            help="File or folder to learn from; - is stdin. Many files: a pattern in quotes, a URL."
        ),
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
    if training.label_names is not None:
        training.check_names_alone(data)
        data = training.label_names
    if data is None or model_folder is None:
        raise ConfigError("train needs data and a place: multitudes train DATA -o MODEL")
    from multitudes import progress
    from multitudes.cli.files.targets import may_replace
    from multitudes.store.folder import check_target, check_writable, writing

    training.check()
    sharded = is_sharded(data, on_cluster=training.ray is not None)
    processes = Processes.started()
    processes.check(choosing.model, training.for_one_process(data) | choosing.for_one_process())
    if not processes.is_first:
        with silent():
            _fitted(choosing.tagger(), data, training, replace(reading, quiet=True), saves=False)
        return
    check_target(model_folder)
    may_replace(model_folder, force=force)
    if training.checkpoint is not None:
        check_writable(training.checkpoint)
    with progress.shown(not reading.quiet, in_flags=True):
        with progress.track("starting"):  # what has to be imported may take a while
            tagger = choosing.tagger(budget=None if sharded else training.time_for(choosing))
        checkpoint = nullcontext() if training.checkpoint is None else writing(training.checkpoint)
        with writing(model_folder), checkpoint, _cluster(training.ray, choosing.model):
            if sharded:
                _train_on_shards(tagger, data, model_folder, training, reading, json=json)
                return
            trained = _trained(tagger, data, model_folder, training, reading)
    if json:
        show_as_json(trained)
    else:
        show(trained, quiet=reading.quiet)


def _train_on_shards(
    tagger: Tagger,
    data: Path,
    folder: Path,
    training: Training,
    reading: TolerantReading,
    *,
    json: bool,
) -> None:
    """Train on data that no machine holds, and save."""
    from multitudes.cli.cards import note
    from multitudes.cli.printing.show import show_json
    from multitudes.shards.places import as_place

    refused = {
        "--groups": training.groups, "--test": training.test, "--validation": training.validation,
        "--refit": training.refit, "--budget": training.budget,
    }  # fmt: skip
    try:
        seconds = train_on_shards(tagger, data, folder, training.checkpoint, reading, refused)
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt("stopped; the same command goes on from there") from stop
    note("train", folder, notes=[f"xr-linear, trained on the shards {as_place(data)}"])
    if json:
        show_json({"model": str(folder), "seconds": seconds})
    elif not reading.quiet:
        remark(f"trained in {seconds:.1f} s, saved to {folder}")


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
    report = done.tagger.auto_report_
    notes = [done.tagger.choice_] if report is None else report.sentences()
    note("train", folder, data=(data, done.dataset), reports=reports, notes=notes)
    return done._replace(reports=reports)


def _saved(
    tagger: Tagger, data: Path, folder: Path, training: Training, reading: TolerantReading
) -> Trained:
    """Read, train, calibrate and save; once more on all data if that was asked for."""
    from multitudes.tagger.training import clear_checkpoint

    if training.label_names is not None:
        return saved_by_names(tagger, data, folder, training.validation, reading)
    _compile_ahead(tagger.model)
    done = _fitted(tagger, data, training, reading, saves=True)
    done.tagger.save(folder)
    for place in reversed(training.places()):
        clear_checkpoint(done.tagger.model_, place)
    return done._replace(folder=folder)


def _fitted(
    tagger: Tagger, data: Path, training: Training, reading: TolerantReading, *, saves: bool
) -> Trained:
    """Read, train and calibrate; once more on all data if that was asked for.

    `saves` is False in processes beside the first: what they would only tell is left out.
    """
    from multitudes.tagger.refitting import refit

    whole = reading.dataset(data, group_labels=training.groups, require_labels=True)
    grouped = whole.group_labels is not None and not whole.Y.nnz
    from_groups = training.groups is not None or grouped
    if from_groups and training.budget is None:
        tagger.set_params(budget=None)  # that was for instances with labels of their own
    places = training.places()
    dataset, held_out = hold_out(
        whole, training.validation, tagger.random_state, reading, from_groups=from_groups
    )
    started = time.perf_counter()
    groups_or_none = True if from_groups else None
    # What a fusion has learned from can neither measure nor calibrate it: auto holds out its own.
    validation = None if tagger.budget is not None else held_out
    tagger.fit(
        dataset, from_groups=groups_or_none, validation=validation, checkpoint=training.checkpoint
    )
    if held_out is not None and saves:
        calibrate(tagger, held_out)
    reports = {}
    if training.refit:
        if saves:
            reports = _reports(tagger, _parts(held_out, None, reading), training)
        place = places[-1] if places else None
        tagger = refit(tagger, whole, from_groups=groups_or_none, checkpoint=place)
        dataset, held_out = whole, None
    seconds = time.perf_counter() - started
    return Trained(tagger, dataset, held_out, Path(), seconds, reports)


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


def _compile_ahead(model: Any) -> None:
    """Let a second process compile what trees need, on their first use here, while we read."""
    from multitudes.linear.rehearsal import compile_ahead
    from multitudes.models import model_spec

    if isinstance(model, str) and (model == "auto" or model_spec(model).on_cluster):
        compile_ahead(from_texts=True)


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
