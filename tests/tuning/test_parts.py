"""Parts of the data: held out, and growing."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes import ConfigError, DataError, Dataset
from multitudes.tuning.parts import divide, part_sizes
from tests.tuning.toy import toy_data

DATA = toy_data(200)


def rows_of(dataset: Dataset) -> set[str]:
    return set(dataset.uids or ())


def test_parts_do_not_share_instances():
    named = dataclasses.replace(DATA, uids=[str(i) for i in range(200)])
    parts = divide(named, None, 0.2, 0)
    assert (len(parts.train), len(parts.validation), len(parts.test)) == (140, 20, 40)
    together = [rows_of(one) for one in (parts.train, parts.validation, parts.test)]
    assert len(set.union(*together)) == 200
    small, large = parts.first(10), parts.first(60)
    assert (len(small), len(large)) == (10, 60)
    assert rows_of(small) < rows_of(large) < rows_of(parts.train)
    assert parts.first(1000) is parts.train
    assert divide(named, None, 0.2, 0).fingerprint() == parts.fingerprint()
    assert divide(named, None, 0.2, 1).fingerprint() != parts.fingerprint()


def test_groups_stay_together():
    groups = sp.csr_array(np.kron(np.eye(50), np.ones((4, 1))))
    parts = divide(dataclasses.replace(DATA, groups=groups), None, None, 0)
    held = [
        set(part.groups.indices.tolist()) for part in (parts.train, parts.validation, parts.test)
    ]
    assert sum(map(len, held)) == len(set.union(*held)) == 50


@pytest.mark.parametrize(
    ("n", "most_parts", "sizes"),
    [(9000, 3, [1000, 3000, 9000]), (9000, 1, [9000]), (2000, 3, [666, 2000]), (30, 3, [30])],
)
def test_sizes_of_growing_parts(n, most_parts, sizes):
    assert part_sizes(n, reduction=3, most_parts=most_parts) == sizes


def other_names(dataset: Dataset) -> Dataset:
    return dataclasses.replace(dataset, label_names=[f"other {i}" for i in range(dataset.n_labels)])


WITHOUT_LABELS = DATA.with_labels(sp.csr_array(DATA.Y.shape))
TEXTS = Dataset.from_lists(["a text"], [["label 1"]])


@pytest.mark.parametrize(
    ("data", "validation", "test", "error", "message"),
    [
        (DATA, 0.6, 0.5, ConfigError, "nothing is left to learn from"),
        (DATA, 1.5, None, ConfigError, "validation must be a share between 0 and 1"),
        (DATA, None, "dev.jsonl", ConfigError, "test must be a share between 0 and 1, or data"),
        (DATA, True, None, ConfigError, "validation must be a share"),
        (DATA[:0], None, None, DataError, "labels of their own"),
        (WITHOUT_LABELS, None, None, DataError, "labels of their own"),
        (DATA[:2], None, None, ConfigError, "nothing is left"),
        (DATA, DATA[:0], None, DataError, "validation data has no labels"),
        (DATA, other_names(DATA), None, DataError, "no label of the validation data"),
        (DATA, TEXTS, None, DataError, "has texts, and the training data features"),
    ],
)  # fmt: skip
def test_what_cannot_be_divided(data, validation, test, error, message):
    with pytest.raises(error, match=message):
        divide(data, validation, test, 0)
