"""multitudes group: grouped data of ordinary data, and a look at grouped data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from multitudes.cli import options
from multitudes.cli.files.streams import TolerantReading, claimed, refuse_overwriting, remark
from multitudes.errors import ConfigError

if TYPE_CHECKING:
    from multitudes.data import Dataset


@dataclass(frozen=True)
class Grouping:
    """How groups are made."""

    random: Annotated[
        int | None, typer.Option("--random", min=1, help="Random groups of this many instances.")
    ] = None
    clusters: Annotated[
        int | None,
        typer.Option(
            "--clusters", min=0, metavar="DEPTH", help="2 ** DEPTH groups of similar instances."
        ),
    ] = None
    noise: Annotated[
        float,
        typer.Option(
            "--noise", metavar="SHARE", help="Mix --clusters with chance: 0 is none, 1 is random."
        ),
    ] = 0.0
    as_set: Annotated[
        bool,
        typer.Option("--as-set", help="List a label once, however many members carry it."),
    ] = False
    random_state: options.Seed = 0
    threads: options.Threads = None

    def grouped(self, dataset: Dataset) -> Dataset:
        """Give the labels of instances to groups of them."""
        from multitudes.groups.grouped_dataset import features_of, grouped_dataset
        from multitudes.groups.making import noisy_groups, random_groups

        if self.random is not None:
            made = random_groups(len(dataset), self.random, random_state=self.random_state)
        else:
            assert self.clusters is not None  # one of the two is given
            X = features_of(dataset, n_jobs=self.threads)
            made = noisy_groups(
                X, self.clusters, self.noise, random_state=self.random_state, n_jobs=self.threads
            )
        return grouped_dataset(dataset, made, as_counts=not self.as_set)


def group(
    data: Annotated[Path, typer.Argument(help="File or folder to read; - is stdin.")],
    folder: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder of the grouped data.")
    ] = None,
    grouping: Grouping = Grouping(),
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
    reading: TolerantReading = TolerantReading(),
    json: options.Json = False,
) -> None:
    """Give the labels of instances to groups of them, for study; or diagnose grouped data.

    Example:  multitudes group train.jsonl --random 4 -o grouped

    Example:  multitudes group instances.jsonl --groups groups.jsonl --diagnose
    """
    _check(grouping, groups, folder, diagnose=diagnose)
    from multitudes import progress
    from multitudes.cli.printing.show import show_json
    from multitudes.groups.grouped_dataset import write_grouped

    if folder is not None:
        _refuse_overwriting_parts(data, folder, keep_labels=keep_labels)
    with claimed(folder), progress.shown(not reading.quiet):
        dataset = reading.dataset(data, group_labels=groups, require_labels=groups is None)
        known = dataset if keep_labels else None
        if groups is None:
            if dataset.groups is not None and not reading.quiet:
                remark(f"the {dataset.groups.shape[1]:,} groups of the data are replaced")
            dataset = grouping.grouped(dataset)
        found = _diagnosed(dataset, grouping.threads) if diagnose else None
        if folder is not None:
            write_grouped(dataset, folder, known=known)
    if folder is not None and not reading.quiet:
        remark(f"{dataset!r}, written to {folder}")
    if found is not None and json:
        show_json(found.to_dict())
    elif found is not None:
        typer.echo(str(found))


def _check(grouping: Grouping, groups: Path | None, folder: Path | None, *, diagnose: bool) -> None:
    """Refuse options that do not go together, before any work."""
    if [grouping.random, grouping.clusters, groups].count(None) != 2:
        raise ConfigError("group needs one of --random SIZE, --clusters DEPTH and --groups FILE")
    if grouping.noise and grouping.clusters is None:
        raise ConfigError(f"--noise is for --clusters DEPTH, got {grouping.noise} without")
    if groups is not None and folder is not None:
        raise ConfigError("data with --groups is grouped already: leave out -o")
    if folder is None and not diagnose:
        raise ConfigError("group needs a place, -o FOLDER, or a question, --diagnose")


def _refuse_overwriting_parts(data: Path, folder: Path, *, keep_labels: bool) -> None:
    """Refuse to write grouped data over the data it is made of."""
    from multitudes.data.groups.folders import GROUPS, INSTANCES, KNOWN

    parts = (INSTANCES, KNOWN) if keep_labels else (INSTANCES,)
    suffixes = (".jsonl", ".X.npz", ".Y.npz")
    for name in (GROUPS, *(part + suffix for part in parts for suffix in suffixes)):
        refuse_overwriting(data, folder / name)


def _diagnosed(dataset: Dataset, n_jobs: int | None) -> Any:
    from multitudes.groups.diagnosis import diagnose
    from multitudes.groups.grouped_dataset import features_of, groups_to_learn

    groups, group_labels = groups_to_learn(dataset)
    return diagnose(features_of(dataset, n_jobs=n_jobs), groups, group_labels)
