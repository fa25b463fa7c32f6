"""--validation: what of the data is kept aside, and what that takes away from training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from multitudes.cli.files.streams import Reading, remark
from multitudes.errors import ConfigError, DataError

if TYPE_CHECKING:
    from multitudes.data import Dataset
    from multitudes.tagger import Tagger

ENOUGH = 0.5  # of the share asked for; with less, labels are given up for it


def share_of(given: str, option: str = "--validation") -> float | None:
    """Return the number given to --validation, or another option; None if it names a file."""
    try:
        share = float(given)
    except ValueError:
        return None
    if not 0 < share < 1:
        raise ConfigError(f"{option} must be a share between 0 and 1, or a file, got {given}")
    return share


def hold_out(
    dataset: Dataset,
    validation: str | None,
    random_state: int,
    reading: Reading,
    *,
    from_groups: bool,
) -> tuple[Dataset, Dataset | None]:
    """Return what to learn from, and what to validate on."""
    if validation is None:
        return dataset, None

    share = share_of(validation)
    if share is None:
        return dataset, reading.dataset(Path(validation), split="dev", require_labels=True)
    if from_groups:
        train, held_out = _whole_groups(dataset, share, random_state)
    else:
        train, held_out = _spared(dataset, share, random_state)
    if not reading.quiet:
        remark(_taken(dataset, train, held_out, share))
    return train, held_out


def _spared(dataset: Dataset, share: float, random_state: int) -> tuple[Dataset, Dataset]:
    """Hold out instances whose labels have others to be learned from, as far as there are any."""
    from multitudes.data import split

    try:
        train, held_out = split(
            dataset, test_size=share, by="label-aware", random_state=random_state
        )
        if len(held_out) >= ENOUGH * share * len(dataset):
            return train, held_out
    except DataError:  # every instance is the only one of some label
        pass
    return split(dataset, test_size=share, by="label-aware", fill=True, random_state=random_state)


def _whole_groups(dataset: Dataset, share: float, random_state: int) -> tuple[Dataset, Dataset]:
    """Hold out whole groups, so that none is learned from without some of its instances."""
    from multitudes.data import split
    from multitudes.data.groups import without_groups_of

    if not dataset.Y.nnz:
        raise ConfigError(
            "--validation needs instances whose own labels are known, and with --groups these "
            "have none: evaluate on labeled data with --test"
        )
    train, held_out = split(dataset, test_size=share, by="group", random_state=random_state)
    return without_groups_of(train, held_out), held_out


def _taken(dataset: Dataset, train: Dataset, held_out: Dataset, share: float) -> str:
    """Say what was held out, and which labels are not learned for it."""
    import numpy as np  # help must answer at once

    wanted = round(share * len(dataset))
    text = f"validation: {len(held_out):,} of {len(dataset):,} instances are held out"
    if len(held_out) < wanted:
        text += f" ({wanted:,} were asked for; the others are the only ones of some label)"
    counts = [np.bincount(part.Y.indices, minlength=dataset.n_labels) for part in (dataset, train)]
    n_lost = int(((counts[0] > 0) & (counts[1] == 0)).sum())
    if n_lost:
        text += (
            f", and with them all instances of {n_lost:,} of {dataset.n_labels:,} labels, which "
            "are not learned; --refit trains on all data afterwards"
        )
    return text


def calibrate(tagger: Tagger, held_out: Dataset) -> None:
    """Learn probabilities and label sets; without them a model is still worth saving."""
    try:
        tagger.calibrate(held_out)
    except DataError as error:
        remark(f"not calibrated: {error}")
