"""Label spaces fix ids; relabeling goes by name."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.data import Dataset, LabelSpace, relabel
from multitudes.errors import DataError

Y = sp.csr_array(np.array([[1, 1, 0], [0, 1, 1]], np.float32))


def test_names_must_be_unique() -> None:
    with pytest.raises(DataError, match="unique, got 'a' for labels 0 and 2"):
        LabelSpace(["a", "b", "a"])


def test_texts_must_be_one_per_label() -> None:
    with pytest.raises(DataError, match=r"one per label \(2\), got 1"):
        LabelSpace(["a", "b"], ["only one"])


def test_of_a_dataset_without_names_uses_ids() -> None:
    space = LabelSpace.of(Dataset(Y=Y, texts=["", ""]))
    assert space.names == ("0", "1", "2")
    assert space.index["2"] == 2
    assert len(space) == 3


def test_relabel_moves_labels_pairs_and_group_labels_by_name() -> None:
    dataset = Dataset(
        Y=Y,
        texts=["", ""],
        label_names=["a", "b", "c"],
        groups=sp.csr_array(np.ones((2, 1), np.float32)),
        group_labels=sp.csr_array(np.array([[3, 0, 5]], np.float32)),
        filter_pairs=np.array([[0, 0], [1, 1]]),
    )
    moved = relabel(dataset, LabelSpace(["c", "d", "a"], ["C", "D", "A"]))
    assert moved.Y.toarray().tolist() == [[0, 0, 1], [1, 0, 0]]
    assert moved.group_labels is not None
    assert moved.group_labels.toarray().tolist() == [[5, 0, 3]]
    assert moved.filter_pairs is not None
    assert moved.filter_pairs.tolist() == [[0, 2]]
    assert moved.label_texts == ("C", "D", "A")
    assert moved.report is not None
    assert moved.report.unknown_labels == 2
    assert moved.report.unknown_label_examples == ("b",)


def test_relabel_can_refuse_unknown_labels() -> None:
    dataset = Dataset(Y=Y, texts=["", ""], label_names=["a", "b", "c"])
    with pytest.raises(DataError, match="1 of the file's labels .*'b'"):
        relabel(dataset, LabelSpace(["a", "c"]), unknown_labels="raise")


def test_without_names_ids_are_positions() -> None:
    dataset = Dataset(Y=Y, texts=["", ""])
    assert relabel(dataset, LabelSpace(list("abcd"))).Y.shape == (2, 4)
    with pytest.raises(DataError, match="ids go up to 2, but the label space has 2 labels"):
        relabel(dataset, LabelSpace(["a", "b"]))
