"""multitudes group: grouped data of ordinary data, and a look at grouped data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from multitudes.cli import options
from multitudes.cli.streams import Reading, refuse_overwriting, remark
from multitudes.errors import ConfigError

if TYPE_CHECKING:
    from multitudes.data import Dataset


def group(
    data: Annotated[Path, typer.Argument(help="File or folder to read; - is stdin.")],
    folder: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder of the grouped data.")
    ] = None,
    random: Annotated[
        int | None, typer.Option("--random", min=1, help="Random groups of this many instances.")
    ] = None,
    clusters: Annotated[
        int | None,
        typer.Option(
            "--clusters", min=0, metavar="DEPTH", help="2 ** DEPTH groups of similar instances."
        ),
    ] = None,
    noise: Annotated[
        float,
        typer.Option(
            "--noise", metavar="SHARE", help="Mix --clusters with chance: 0 is none, 1 is random."
        ),
    ] = 0.0,
    as_set: Annotated[
        bool,
        typer.Option("--as-set", help="List a label once, however many members carry it."),
    ] = False,
    keep_labels: Annotated[
        bool,
        typer.Option(
            "--keep-labels", help="Also write the instances with their own labels, to check with."
        ),
    ] = False,
    groups: options.Groups = None,
    diagnose: Annotated[
        bool,
        typer.Option("--diagnose", help="Say how hard it is to learn from the groups, and why."),
    ] = False,
    random_state: options.Seed = 0,
    threads: options.Threads = None,
    format: options.Format = None,
    on_error: options.OnError = "raise",
    read: options.Read = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Give the labels of instances to groups of them, for study; or diagnose grouped data.

    Example:  multitudes group train.jsonl --random 4 -o grouped

    Example:  multitudes group instances.jsonl --groups groups.jsonl --diagnose
    """
    _check(random, clusters, noise, groups, folder, diagnose=diagnose)
    from multitudes import progress
    from multitudes.cli.show import show_json
    from multitudes.groups.grouped_dataset import GROUPS, INSTANCES, KNOWN, write_grouped

    if folder is not None:
        parts = (INSTANCES, KNOWN) if keep_labels else (INSTANCES,)
        suffixes = (".jsonl", ".X.npz", ".Y.npz")
        for name in (GROUPS, *(part + suffix for part in parts for suffix in suffixes)):
            refuse_overwriting(data, folder / name)
    with progress.shown(not quiet):
        dataset = Reading(format, read or [], on_error, quiet).read(data, group_labels=groups)
        known = dataset if keep_labels else None
        if groups is None:
            making = (random, clusters, noise, not as_set, random_state, threads)
            dataset = _grouped(dataset, *making, quiet=quiet)
        found = _diagnosed(dataset, threads) if diagnose else None
        if folder is not None:
            write_grouped(dataset, folder, known=known)
    if folder is not None and not quiet:
        remark(f"{dataset!r}, written to {folder}")
    if found is not None and json:
        show_json(found.to_dict())
    elif found is not None:
        typer.echo(str(found))


def _check(
    random: int | None,
    clusters: int | None,
    noise: float,
    groups: Path | None,
    folder: Path | None,
    *,
    diagnose: bool,
) -> None:
    """Refuse options that do not go together, before any work."""
    if [random, clusters, groups].count(None) != 2:
        raise ConfigError("group needs one of --random SIZE, --clusters DEPTH and --groups FILE")
    if noise and clusters is None:
        raise ConfigError(f"--noise is for --clusters DEPTH, got {noise} without")
    if groups is not None and folder is not None:
        raise ConfigError("data with --groups is grouped already: leave out -o")
    if folder is None and not diagnose:
        raise ConfigError("group needs a place, -o FOLDER, or a question, --diagnose")


def _grouped(
    dataset: Dataset,
    size: int | None,
    depth: int | None,
    noise: float,
    as_counts: bool,
    random_state: int,
    n_jobs: int | None,
    *,
    quiet: bool,
) -> Dataset:
    from multitudes.groups.grouped_dataset import features_of, grouped_dataset
    from multitudes.groups.making import noisy_groups, random_groups

    if dataset.groups is not None and not quiet:
        remark(f"the {dataset.groups.shape[1]:,} groups of the data are replaced")
    if size is not None:
        made = random_groups(len(dataset), size, random_state=random_state)
    else:
        assert depth is not None  # one of the two is given
        X = features_of(dataset, n_jobs=n_jobs)
        made = noisy_groups(X, depth, noise, random_state=random_state, n_jobs=n_jobs)
    return grouped_dataset(dataset, made, as_counts=as_counts)


def _diagnosed(dataset: Dataset, n_jobs: int | None) -> Any:
    from multitudes.groups.diagnosis import diagnose
    from multitudes.groups.grouped_dataset import features_of, groups_to_learn

    groups, group_labels = groups_to_learn(dataset)
    return diagnose(features_of(dataset, n_jobs=n_jobs), groups, group_labels)
