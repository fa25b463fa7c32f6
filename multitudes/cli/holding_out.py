"""--validation: what of the data is kept aside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from multitudes.cli.streams import Reading
from multitudes.errors import ConfigError

if TYPE_CHECKING:
    from multitudes.data import Dataset


def _share(validation: str) -> float | None:
    """Return the number in --validation; None if it names a file."""
    try:
        share = float(validation)
    except ValueError:
        return None
    if not 0 < share < 1:
        raise ConfigError(
            f"--validation must be a share between 0 and 1, or a file, got {validation}"
        )
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
    from multitudes.data import split
    from multitudes.data.groups import without_groups_of

    share = _share(validation)
    if share is None:
        return dataset, reading.dataset(Path(validation), split="dev")
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
