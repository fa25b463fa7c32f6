import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.data import Dataset, ReadOptions, make_catalogue, read_dataset
from multitudes.errors import DataError
from multitudes.groups.grouped_dataset import (
    features_of,
    grouped_dataset,
    groups_to_learn,
    write_grouped,
)
from multitudes.groups.making import random_groups


@pytest.fixture(scope="module")
def shop():
    return make_catalogue(60, n_labels=300, random_state=2).dataset


def test_labels_move_to_the_groups(shop):
    groups = random_groups(60, 20, random_state=0)
    grouped = grouped_dataset(shop, groups)
    assert grouped.Y.shape == shop.Y.shape
    assert grouped.Y.nnz == 0
    assert grouped.group_labels.sum() == shop.Y.sum()
    assert grouped.label_names == shop.label_names
    once = grouped_dataset(shop, groups, as_counts=False).group_labels
    assert once.max() == 1
    assert grouped.group_labels.max() > 1


def test_a_labeled_instance_in_no_group_is_its_own():
    dataset = Dataset(
        Y=sp.csr_array([[1, 0], [0, 1], [0, 0], [0, 1]], dtype=np.float32),
        texts=list("abcd"),
        groups=sp.csr_array([[1], [0], [0], [0]]),
        group_labels=sp.csr_array([[2, 1]]),
    )
    groups, labels = groups_to_learn(dataset)
    assert groups.toarray().tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert labels.toarray().tolist() == [[2, 1], [0, 1], [0, 1]]


@pytest.mark.parametrize(
    ("groups", "labels", "message"),
    [
        ([[1], [0]], None, "there are no labels of groups"),
        ([[0], [0]], [[1, 0]], "no instance names a group, so the labels of 1 groups"),
        ([[1], [1]], [[0, 0]], "none of the 1 groups lists a label"),
    ],
)
def test_nothing_to_learn_from(groups, labels, message):
    dataset = Dataset(
        Y=sp.csr_array((2, 2)),
        texts=["a", "b"],
        groups=sp.csr_array(groups),
        group_labels=None if labels is None else sp.csr_array(labels),
    )
    with pytest.raises(DataError, match=message):
        groups_to_learn(dataset)


def test_a_folder_of_texts_reads_back(shop, tmp_path):
    grouped = grouped_dataset(shop, random_groups(60, 4, random_state=0))
    write_grouped(grouped, tmp_path / "a" / "b", known=shop)
    folder = tmp_path / "a" / "b"
    assert sorted(p.name for p in folder.iterdir()) == [
        "groups.jsonl",
        "instances.jsonl",
        "known.jsonl",
    ]
    options = ReadOptions(group_labels=str(folder / "groups.jsonl"))
    again = read_dataset(folder / "instances.jsonl", options=options, labels=shop)
    assert (again.group_labels != grouped.group_labels).nnz == 0
    assert (again.groups != grouped.groups).nnz == 0
    assert again.Y.nnz == 0
    known = read_dataset(folder / "known.jsonl", options=options, labels=shop)
    assert (known.Y != shop.Y).nnz == 0
    assert (known.groups != grouped.groups).nnz == 0


def test_a_folder_of_features_reads_back(shop, tmp_path):
    X = features_of(shop)
    numbers = Dataset(Y=shop.Y, X=X, label_names=shop.label_names)
    grouped = grouped_dataset(numbers, random_groups(60, 4, random_state=0))
    write_grouped(grouped, tmp_path, known=numbers)
    options = ReadOptions(
        group_labels=str(tmp_path / "groups.jsonl"),
        instance_groups=str(tmp_path / "instance_groups.jsonl"),
    )
    for name in ("instances.npz", "known.npz"):
        again = read_dataset(tmp_path / name, options=options)
        assert (again.groups != grouped.groups).nnz == 0
        assert (again.group_labels != grouped.group_labels).nnz == 0
        assert (again.X != X).nnz == 0
    assert again.Y.nnz == shop.Y.nnz


def test_features_have_rows_of_length_1(shop):
    X = features_of(shop)
    numbers = Dataset(Y=shop.Y, X=3 * X)
    for features in (X, features_of(numbers)):
        lengths = np.sqrt(features.multiply(features).sum(axis=1))
        assert lengths == pytest.approx(np.ones(60), abs=1e-5)


def test_there_must_be_labels_and_a_place(shop, tmp_path):
    empty = shop.with_labels(sp.csr_array(shop.Y.shape))
    with pytest.raises(DataError, match="no labels to give to groups"):
        grouped_dataset(empty, random_groups(60, 4))
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot make the folder"):
        write_grouped(grouped_dataset(shop, random_groups(60, 4)), tmp_path / "file")
