"""Splits: what each way promises, on any Dataset."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from multitudes.data.dataset import Dataset
from multitudes.data.splits import k_fold, split
from multitudes.errors import ConfigError, DataError


def make(label_rows: list[list[int]], group_rows: list[list[int]] | None = None) -> Dataset:
    def csr(rows: list[list[int]], n_columns: int) -> sp.csr_array:
        dense = np.zeros((len(rows), n_columns), np.float32)
        for row, columns in enumerate(rows):
            dense[row, columns] = 1
        return sp.csr_array(dense)

    return Dataset(
        Y=csr(label_rows, 6),
        texts=[f"text {i}" for i in range(len(label_rows))],
        groups=None if group_rows is None else csr(group_rows, 5),
    )


def ids(dataset: Dataset) -> list[int]:
    return [int(text.split()[1]) for text in dataset.texts]


def group_ids(dataset: Dataset) -> set[int]:
    return set(dataset.groups.indices.tolist())


rows_of_labels = st.lists(st.lists(st.integers(0, 5), max_size=3), min_size=2, max_size=25)
seeds = st.integers(0, 5)


@given(rows_of_labels, st.floats(0.01, 0.99), seeds)
def test_a_random_split_is_a_partition_of_the_asked_size(rows, share, random_state) -> None:
    train, test = split(make(rows), test_size=share, random_state=random_state)
    assert sorted(ids(train) + ids(test)) == list(range(len(rows)))
    assert len(test) == min(max(round(share * len(rows)), 1), len(rows) - 1)
    assert ids(train) == sorted(ids(train))
    assert ids(test) == sorted(ids(test))


@pytest.mark.parametrize("by", ["random", "group", "label-aware"])
def test_the_seed_decides(by: str) -> None:
    dataset = make([[0, 1]] * 40, [[]] * 40)
    first, again, other = (
        split(dataset, by=by, random_state=random_state)[1] for random_state in (3, 3, 4)
    )
    assert ids(first) == ids(again)
    assert ids(first) != ids(other)
    folds = [ids(test) for _, test in k_fold(dataset, 4, by=by, random_state=3)]
    assert folds == [ids(test) for _, test in k_fold(dataset, 4, by=by, random_state=3)]


def test_a_count_is_taken_as_it_is() -> None:
    assert len(split(make([[0]] * 10), test_size=3)[1]) == 3


def two_components(extra: list[list[int]]) -> Dataset:
    """At least two components: groups 0 and 1 are never joined to 2, 3, 4."""
    rows = [[0], [2], *extra]
    return make([[]] * len(rows), rows)


rows_of_groups = st.lists(
    st.lists(st.integers(0, 1), max_size=2) | st.lists(st.integers(2, 4), max_size=2), max_size=20
).map(two_components)


@given(rows_of_groups, st.floats(0.01, 0.99), seeds)
def test_by_group_no_group_is_in_both_parts(dataset, share, random_state) -> None:
    train, test = split(dataset, test_size=share, by="group", random_state=random_state)
    assert not group_ids(train) & group_ids(test)
    assert len(train) > 0
    assert len(test) > 0
    assert sorted(ids(train) + ids(test)) == list(range(len(dataset)))


@given(rows_of_groups, seeds)
def test_group_folds_test_every_instance_once(dataset, random_state) -> None:
    pairs = list(k_fold(dataset, 2, by="group", random_state=random_state))
    assert sorted(i for _, test in pairs for i in ids(test)) == list(range(len(dataset)))
    assert all(not group_ids(train) & group_ids(test) for train, test in pairs)


def test_an_instance_in_two_groups_ties_them() -> None:
    dataset = make([[]] * 5, [[0], [0, 1], [1, 2], [2], [3]])
    train, test = split(dataset, test_size=1, by="group")
    assert (ids(train), ids(test)) == ([0, 1, 2, 3], [4])


def test_the_smallest_component_is_tested_where_none_fits() -> None:
    dataset = make([[]] * 7, [[0]] * 4 + [[1]] * 3)
    assert ids(split(dataset, test_size=1, by="group")[1]) == [4, 5, 6]


def test_group_folds_are_even() -> None:
    dataset = make([[]] * 12, [[0]] * 6 + [[1]] * 3 + [[2]] * 3)
    assert [len(test) for _, test in k_fold(dataset, 2, by="group")] == [6, 6]


@given(rows_of_labels, st.floats(0.05, 0.95), seeds)
def test_label_aware_every_label_keeps_a_training_instance(rows, share, random_state) -> None:
    dataset = make([[], [], *rows])
    train, test = split(dataset, test_size=share, by="label-aware", random_state=random_state)
    assert set(train.Y.indices) == set(dataset.Y.indices)
    wanted = min(max(round(share * len(dataset)), 1), len(dataset) - 1)
    counts = np.bincount(train.Y.indices, minlength=6)
    can_move = [i for i in range(len(train)) if (counts[train.Y[[i]].indices] > 1).all()]
    assert len(test) == wanted or not can_move
    assert len(test) <= wanted


@given(rows_of_labels, st.floats(0.05, 0.95), seeds)
def test_filled_up_it_has_the_asked_size_and_spares_labels_as_far_as_possible(
    rows, share, random_state
) -> None:
    dataset = make([[], [], *rows])
    options = {"test_size": share, "by": "label-aware", "random_state": random_state}
    train, test = split(dataset, fill=True, **options)
    strict_train, strict_test = split(dataset, **options)
    assert len(test) == min(max(round(share * len(dataset)), 1), len(dataset) - 1)
    assert set(ids(strict_test)) <= set(ids(test))
    assert sorted(ids(train) + ids(test)) == list(range(len(dataset)))
    spared_enough = len(strict_test) == len(test)
    assert (ids(train) == ids(strict_train)) is spared_enough


def test_where_no_label_can_spare_an_instance_some_are_taken_all_the_same() -> None:
    train, test = split(make([[0], [1], [2], [3]]), test_size=2, by="label-aware", fill=True)
    assert (len(train), len(test)) == (2, 2)


@given(rows_of_labels, seeds)
def test_label_aware_folds_are_disjoint_and_lose_no_label(rows, random_state) -> None:
    dataset = make([*rows, *[[]] * (len(rows) + 2)])  # a fold always holds some without labels
    tested: list[int] = []
    for train, test in k_fold(dataset, 2, by="label-aware", random_state=random_state):
        assert set(train.Y.indices) == set(dataset.Y.indices)
        tested += ids(test)
    assert len(tested) == len(set(tested))


def test_an_only_instance_of_a_label_is_never_tested() -> None:
    dataset = make([[5], *[[0]] * 9])
    tested = [i for _, test in k_fold(dataset, 5, by="label-aware") for i in ids(test)]
    assert 0 not in tested
    assert len(tested) == 9


def test_a_stored_zero_is_no_label() -> None:
    Y = sp.csr_array(np.ones((4, 1), np.float32))
    Y.data[:3] = 0
    dataset = Dataset(Y=Y, texts=[f"text {i}" for i in range(4)])
    train, _ = split(dataset, test_size=3, by="label-aware")
    assert ids(train) == [3]


@given(rows_of_labels, seeds)
def test_random_folds_test_every_instance_once(rows, random_state) -> None:
    pairs = list(k_fold(make(rows), 2, random_state=random_state))
    assert sorted(i for _, test in pairs for i in ids(test)) == list(range(len(rows)))
    assert all(sorted(ids(a) + ids(b)) == list(range(len(rows))) for a, b in pairs)


@pytest.mark.parametrize("test_size", [0, 1.0, -1, 10, True, "half"])
def test_test_size_out_of_range_is_refused(test_size) -> None:
    with pytest.raises(ConfigError, match="test_size must be a share .* from 1 to 9 .*, got"):
        split(make([[0]] * 10), test_size=test_size)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"by": "groups"}, "did you mean 'group'"),
        ({"random_state": -1}, "random_state must be a whole number >= 0, got -1"),
        ({"n_folds": 1}, "n_folds must be a whole number >= 2, got 1"),
        ({"n_folds": 11}, "n_folds must be <= 10, the number of instances, got 11"),
    ],
)
def test_other_settings_out_of_range_are_refused(arguments, message) -> None:
    with pytest.raises(ConfigError, match=message):
        k_fold(make([[0]] * 10), **arguments)


@pytest.mark.parametrize(
    ("dataset", "by", "message"),
    [
        (make([[0]]), "random", "at least 2 instances, got 1"),
        (make([[0]] * 4), "group", "has no groups"),
        (make([[0]] * 4, [[0], [0, 1], [1], [1]]), "group", "all 4 instances are connected"),
        (make([[0], [1], [2]]), "label-aware", "test part is empty"),
    ],
)
def test_data_that_cannot_be_split(dataset, by, message) -> None:
    with pytest.raises(DataError, match=message):
        split(dataset, by=by)
