"""multitudes fuse: several models to one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from multitudes.cli import options
from multitudes.cli.files.streams import TolerantReading, remark
from multitudes.errors import ConfigError


def fuse(
    models: Annotated[list[Path], typer.Argument(help="Folders of the models, two or more.")],
    out: Annotated[Path, typer.Option("--output", "-o", help="Folder for the fused model.")],
    validation: Annotated[
        Path | None,
        typer.Option(
            "--validation",
            metavar="DATA",
            help="Labeled data that none of them was trained on, to learn from how to fuse them; "
            "without it they are fused by rank.",
        ),
    ] = None,
    fusion: Annotated[
        str,
        typer.Option(
            "--fusion",
            metavar="auto|rank|calibrated|learned",
            help="How: by rank, by calibrated log-odds, by a ranker that is learned, or by what "
            "is best on --validation.",
        ),
    ] = "auto",
    weights: Annotated[
        str | None,
        typer.Option(
            "--weights",
            metavar="W,W,...",
            help="How much each model counts, in order; without --validation.",
        ),
    ] = None,
    train: Annotated[
        Path | None,
        typer.Option(
            "--train",
            metavar="DATA",
            help="With --validation: what they were trained on, to tell rare labels from "
            "frequent ones.",
        ),
    ] = None,
    refer: Annotated[
        bool,
        typer.Option(
            "--refer",
            help="Do not copy the models: the new one names their folders, which must stay as they "
            "are.",
        ),
    ] = False,
    force: options.Force = False,
    computing: options.Computing = options.Computing(),
    reading: TolerantReading = TolerantReading(),
    json: options.Json = False,
) -> None:
    """Make one model of several, each of which votes for the labels it knows.

    The models are copied into the new folder, unless --refer is given. With --validation, how much
    each is worth is learned, and it is calibrated for predict --proba and predict --sets.

    Example:  multitudes fuse words encoder -o both --validation validation.jsonl
    """
    from multitudes import progress
    from multitudes.cli.cards import note
    from multitudes.cli.files.targets import may_replace
    from multitudes.cli.printing.show import say, show_json
    from multitudes.fusion.reference import Reference
    from multitudes.store.folder import check_target, writing
    from multitudes.tagger.members import fused_tagger

    each = _checked(models, fusion, weights, validation, train)
    check_target(out)
    may_replace(out, force=force)
    with writing(out), progress.shown(not reading.quiet):
        names = _names(models)
        references = {
            name: Reference.of(model) for name, model in zip(names, models, strict=True) if refer
        }
        taggers = {name: computing.load(model) for name, model in zip(names, models, strict=True)}
        dataset = counted = None
        if validation is not None:
            dataset = reading.dataset(validation, split="dev", require_labels=True)
        if train is not None:
            counted = reading.dataset(train, require_labels=True)
        tagger = fused_tagger(
            taggers,
            dataset,
            fusion=fusion,
            weights=each,
            train=counted,
            references=references or None,
        )
        tagger.save(out)
        report = tagger.model_.report_
        learned = None if validation is None or dataset is None else (validation, dataset)
        note("fuse", out, data=learned, notes=[str(report)])
    if json:
        show_json({"model": str(out), "n_labels": len(tagger.classes_), **vars(report)})
    else:
        say(str(report))
    if not reading.quiet:
        remark(f"{len(taggers)} models, {len(tagger.classes_):,} labels; saved to {out}")


def _checked(
    models: list[Path],
    fusion: str,
    weights: str | None,
    validation: Path | None,
    train: Path | None,
) -> list[float] | None:
    """Refuse what does not go together; return the weights as numbers."""
    from multitudes.fusion.choosing import AUTO, FUSIONS

    if len(models) < 2:
        raise ConfigError("fuse needs two models or more: multitudes fuse A B -o MODEL")
    if fusion not in (AUTO, *FUSIONS):
        raise ConfigError(f"--fusion must be one of {', '.join([AUTO, *FUSIONS])}, got {fusion}")
    if validation is None:
        if fusion not in (AUTO, "rank"):
            raise ConfigError(f"--fusion {fusion} is learned: give --validation DATA")
        if train is not None:
            raise ConfigError("--train is for --validation: give both, or neither")
    if weights is None:
        return None
    if validation is not None:
        raise ConfigError("--weights are learned with --validation: leave out one of them")
    try:
        each = [float(weight) for weight in weights.split(",")]
    except ValueError:
        each = []
    if len(each) != len(models):
        raise ConfigError(
            f"--weights must be {len(models)} numbers with commas between, got {weights}"
        )
    return each


def _names(models: list[Path]) -> list[str]:
    """Return names that tell models apart: those of their folders."""
    names = [model.resolve().name for model in models]
    if len(set(names)) < len(names):
        names = [str(model) for model in models]
    if len(set(names)) < len(names):
        raise ConfigError(f"{models[0]} is there twice: name each model once")
    return names
