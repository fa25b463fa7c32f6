"""Dataset checks its parts, and slices into Datasets."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.data import Dataset, ReadReport
from multitudes.errors import DataError


def csr(rows: list[list[float]]) -> sp.csr_array:
    return sp.csr_array(np.array(rows, np.float32))


@pytest.fixture
def dataset() -> Dataset:
    return Dataset(
        Y=csr([[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 1, 1]]),
        texts=["a", "b", "c", "d"],
        X=csr([[1, 0], [0, 2], [3, 0], [0, 4]]),
        label_names=["x", "y", "z"],
        uids=["1", "2", "3", "4"],
        groups=csr([[1, 0], [0, 1], [1, 1], [0, 0]]),
        group_labels=csr([[2, 1, 0], [0, 0, 1]]),
        group_names=["g", "h"],
        filter_pairs=np.array([[0, 2], [3, 0], [3, 1]]),
        report=ReadReport(skipped=2),
    )


def test_repr_is_a_sentence(dataset: Dataset) -> None:
    assert repr(dataset) == (
        "Dataset: 4 instances, 3 labels, 1.5 labels per instance, 2 features, 2 groups, "
        "3 filter pairs, 2 bad lines skipped"
    )
    assert repr(dataset[:1]).startswith("Dataset: 1 instance, 3 labels")


def test_take_keeps_the_order_and_repeats(dataset: Dataset) -> None:
    taken = dataset.take([3, 0, 3])
    assert taken.texts == ("d", "a", "d")
    assert taken.uids == ("4", "1", "4")
    np.testing.assert_array_equal(taken.Y.toarray(), dataset.Y.toarray()[[3, 0, 3]])
    assert taken.X is not None
    np.testing.assert_array_equal(taken.X.toarray(), [[0, 4], [1, 0], [0, 4]])
    assert taken.filter_pairs is not None
    assert taken.filter_pairs.tolist() == [[0, 0], [0, 1], [1, 2], [2, 0], [2, 1]]
    assert taken.group_names == ("g", "h")
    assert taken.report is None


def test_slices_masks_and_ids_agree(dataset: Dataset) -> None:
    assert dataset[1:3].texts == dataset.take([1, 2]).texts == ("b", "c")
    assert dataset.take(np.array([False, True, True, False])).texts == ("b", "c")
    assert dataset[::-1].texts == ("d", "c", "b", "a")
    assert len(dataset[4:]) == len(dataset.take([])) == 0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([4], "instance 4 does not exist; expected 0 to 3"),
        ([-1], "instance -1 does not exist"),
        ([True, False], r"mask must have one entry per instance \(4\)"),
        ([0.5], "got shape .* of float64"),
        ([[0, 1]], r"got shape \(1, 2\)"),
    ],
)
def test_take_refuses_what_is_not_an_instance(
    dataset: Dataset, rows: list[float], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        dataset.take(rows)


def test_single_items_and_iteration_say_what_to_do(dataset: Dataset) -> None:
    with pytest.raises(TypeError, match="use dataset.take"):
        dataset[0]  # type: ignore[index]
    with pytest.raises(TypeError, match="not iterable"):
        iter(dataset)  # type: ignore[call-overload]


def test_fields_cannot_be_replaced(dataset: Dataset) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        dataset.Y = dataset.Y  # type: ignore[misc]
    assert isinstance(dataset.texts, tuple)


def test_names_of_labels_and_groups(dataset: Dataset) -> None:
    assert dataset.labels_of(3) == ["x", "y", "z"]
    assert dataset.labels_of(1) == []
    assert dataset.group_names_of(2) == ["g", "h"]
    unnamed = Dataset(Y=csr([[0, 1]]), texts=["a"])
    assert unnamed.labels_of(0) == ["1"]
    assert unnamed.group_names_of(0) == []


def test_matrices_become_sorted_float32_csr_without_touching_the_given_one() -> None:
    given = sp.csr_matrix((np.ones(2), [1, 0], [0, 2]), shape=(1, 2), dtype=np.int64)
    dataset = Dataset(Y=given, texts=["a"])  # type: ignore[arg-type]
    assert type(dataset.Y) is sp.csr_array
    assert dataset.Y.dtype == np.float32
    assert dataset.Y.indices.tolist() == [0, 1]
    assert given.indices.tolist() == [1, 0]


def test_a_canonical_matrix_is_not_copied() -> None:
    Y = Dataset(Y=csr([[1, 0]]), texts=["a"]).Y
    assert Dataset(Y=Y, texts=["a"]).Y is Y


def test_indices_are_int32_after_building_and_taking(dataset: Dataset) -> None:
    wide = sp.csr_array((np.ones(1, np.float32), np.array([0]), np.array([0, 1])), shape=(1, 1))
    assert wide.indices.dtype == np.int64
    for Y in (Dataset(Y=wide, texts=["a"]).Y, dataset.Y, dataset.take([1, 0]).Y):
        assert Y.indices.dtype == Y.indptr.dtype == np.int32


def test_with_labels_keeps_the_label_space(dataset: Dataset) -> None:
    changed = dataset.with_labels(csr([[0, 0, 0.5]] * 4))
    assert changed.Y.sum() == 2
    assert changed.texts == dataset.texts
    with pytest.raises(DataError, match=r"keep its shape, \(4, 3\), got \(4, 2\)"):
        dataset.with_labels(csr([[0, 0]] * 4))


ONE = csr([[1.0, 0.0]])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "needs texts or X"),
        ({"texts": ["a", "b"]}, r"texts must have one entry per instance \(1\), got 2"),
        ({"texts": "a"}, "sequence of strings, got one string: 'a'"),
        ({"texts": [1]}, "texts must be strings, got 1 at position 0"),
        ({"X": csr([[1], [2]])}, r"X must have one row per instance \(1\), got 2"),
        ({"X": csr([[np.nan]])}, "X must be finite, got NaN or infinity in row 0"),
        ({"X": np.ones((1, 1))}, "X must be a scipy sparse array, got ndarray"),
        ({"texts": ["a"], "label_names": ["x"]}, r"one entry per label \(2\), got 1"),
        ({"texts": ["a"], "group_labels": ONE}, "group_labels need groups"),
        (
            {"texts": ["a"], "groups": csr([[0, 2]])},
            "groups must hold 1 .* got 2 for instance 0 and group 1",
        ),
        (
            {"texts": ["a"], "groups": csr([[1]]), "group_labels": csr([[0, -1]])},
            "whole numbers >= 0, got -1 for group 0 and label 1",
        ),
        (
            {"texts": ["a"], "groups": csr([[1]]), "group_labels": csr([[0.5, 0]])},
            "whole numbers >= 0, got 0.5 for group 0 and label 0",
        ),
        (
            {"texts": ["a"], "groups": csr([[1]]), "group_labels": csr([[float("nan"), 0]])},
            "group_labels must be finite",
        ),
        (
            {"texts": ["a"], "groups": csr([[1]]), "group_labels": csr([[1, 1, 1]])},
            r"group_labels must have one column per label \(2\), got 3",
        ),
        (
            {"texts": ["a"], "filter_pairs": [[0, 2]]},
            r"filter pair 0 is \(instance, label\) \(0, 2\).*labels below 2",
        ),
        ({"texts": ["a"], "filter_pairs": [[0.5, 1]]}, "must be an integer array"),
    ],
)
def test_parts_that_disagree_are_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Dataset(Y=ONE, **fields)  # type: ignore[arg-type]


def test_nan_in_y_names_the_row() -> None:
    Y = csr([[1, 0], [0, 0], [0, np.inf]])
    with pytest.raises(DataError, match="Y must be finite, got NaN or infinity in row 2"):
        Dataset(Y=Y, texts=["a", "b", "c"])


def test_a_dataset_without_labels_or_instances_is_legal() -> None:
    assert repr(Dataset(Y=sp.csr_array((2, 0)), texts=["a", "b"])[:1]) == (
        "Dataset: 1 instance, 0 labels, 0.0 labels per instance, texts"
    )
    assert len(Dataset(Y=sp.csr_array((0, 3)), texts=[])) == 0
