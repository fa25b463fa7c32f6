"""What is learned from, what is chosen on, what only the end looks at; and growing parts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from multitudes.data import Dataset, LabelSpace, split
from multitudes.data.predictions.alignment import with_names
from multitudes.errors import ConfigError, DataError
from multitudes.tuning.metric import check_measurable

SHARE = 0.1  # of the data, for each part that is held out by default
MOST = 10_000  # instances of such a part: more make numbers hardly steadier, and each trial slower
SMALLEST_PART = 500  # instances; what is learned from fewer says little about all


@dataclass(frozen=True)
class Parts:
    """The data of a search.

    Parameters
    ----------
    train : Dataset
        What trials learn from.
    validation : Dataset
        What trials are chosen on.
    test : Dataset
        What the best and the default are compared on at the end; nothing is chosen on it.
    random_state : int
        Of the order in which instances join the growing parts.
    """

    train: Dataset
    validation: Dataset
    test: Dataset
    random_state: int
    _taken: dict[int, Dataset] = field(default_factory=dict, repr=False)

    def first(self, n: int) -> Dataset:
        """Return a part of the training data that holds every smaller one."""
        if n >= len(self.train):
            return self.train
        if n not in self._taken:
            order = np.random.default_rng([self.random_state, 1]).permutation(len(self.train))
            self._taken[n] = self.train.take(np.sort(order[:n]))
        return self._taken[n]

    def fingerprint(self) -> str:
        """Return a text that changes with the data."""
        digest = hashlib.sha256()
        for dataset in (self.train, self.validation, self.test):
            digest.update(f"{len(dataset)} {dataset.n_labels}".encode())
            for matrix in (dataset.Y, dataset.X):
                if matrix is not None:
                    for array in (matrix.indptr, matrix.indices, matrix.data):
                        digest.update(np.ascontiguousarray(array).tobytes())
            for strings in (dataset.texts, dataset.label_names):
                for text in strings or ():
                    digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
        return digest.hexdigest()[:16]


def divide(dataset: Dataset, validation: Any, test: Any, random_state: int) -> Parts:
    """Hold out what is chosen on and what is compared on, as far as they are not given.

    Parameters
    ----------
    dataset : Dataset
    validation, test : Dataset, float or None
        Labeled data of their own, or a share of `dataset` to hold out; None for a tenth of it, and
        at most 10,000 instances.
    random_state : int
    """
    if not len(dataset) or not dataset.Y.nnz:
        raise DataError(
            f"tuning needs instances that have labels of their own to be measured by: {dataset!r}"
        )
    sizes = {
        name: _held_out(name, given, len(dataset))
        for name, given in (("test", test), ("validation", validation))
    }
    if sum(sizes.values()) >= len(dataset):
        raise ConfigError(
            f"validation and test hold out {sum(sizes.values()):,} of {len(dataset):,} instances, "
            "and nothing is left to learn from: hold out less, or give data for them"
        )
    held: dict[str, Dataset] = {}
    rest = dataset
    for number, (name, size) in enumerate(sizes.items()):
        if not size:
            held[name] = _given({"test": test, "validation": validation}[name], dataset, name)
            continue
        by = "random" if dataset.groups is None else "group"
        rest, held[name] = split(rest, test_size=size, by=by, random_state=random_state + number)
    for name, part in held.items():
        check_measurable(part, f"{name} data")
    if not rest.Y.nnz:
        raise DataError("what is left to learn from has no labels: hold out less")
    return Parts(rest, held["validation"], held["test"], random_state)


def _held_out(name: str, given: Any, n: int) -> int:
    """Return how many instances to hold out; 0 if data is given."""
    if isinstance(given, Dataset):
        return 0
    if given is None:
        return max(1, min(round(SHARE * n), MOST))
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given < 1:
        raise ConfigError(f"{name} must be a share between 0 and 1, or data, got {given!r}")
    return max(1, round(given * n))


def _given(part: Dataset, dataset: Dataset, name: str) -> Dataset:
    """Return data that was given, with names; refuse what would make every trial fail."""
    check_measurable(part, f"{name} data")
    kinds = {True: "texts", False: "features"}
    ours, theirs = dataset.texts is not None, part.texts is not None
    if ours != theirs:
        raise DataError(
            f"the {name} data has {kinds[theirs]}, and the training data {kinds[ours]}: give both "
            "of one kind"
        )
    names = LabelSpace.of(dataset).names
    part = with_names(part, names)
    known = set(names)
    if not any(name in known for name in _occurring(part)):
        raise DataError(
            f"no label of the {name} data is in the training data, such as {names[0]!r}: are both "
            "of the same labels?"
        )
    return part


def _occurring(dataset: Dataset) -> list[str]:
    """Return the names of the labels that instances have."""
    return [dataset.label_name(int(label)) for label in np.unique(dataset.Y.indices)]


def part_sizes(n: int, *, reduction: int, most_parts: int) -> list[int]:
    """Return how many instances the growing parts have, each `reduction` times the one before.

    Parameters
    ----------
    n : int
        Instances of the largest.
    reduction : int
    most_parts : int
        Parts at most; fewer if the smallest would have less than 500 instances.
    """
    sizes = [n]
    while len(sizes) < most_parts and sizes[0] // reduction >= SMALLEST_PART:
        sizes.insert(0, sizes[0] // reduction)
    return sizes
