from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.data import Dataset, PredictionFile, align
from multitudes.errors import ConfigError, DataError


def predicted(
    rows: list[list[int]], names: list[str] | None = None, uids: list[str] | None = None
) -> PredictionFile:
    flat = np.array([label for row in rows for label in row], np.int32)
    counts = np.array([len(row) for row in rows], np.int64)
    scores = np.linspace(1, 0.1, len(flat), dtype=np.float32)
    return PredictionFile(Path("p"), counts, flat, scores, names, uids)


def truth_of(rows: list[list[int]], names: list[str] | None = None, **known) -> Dataset:
    Y = np.zeros((len(rows), len(names) if names else 3), np.float32)
    for i, row in enumerate(rows):
        Y[i, row] = 1
    return Dataset(Y=sp.csr_array(Y), texts=["x"] * len(rows), label_names=names, **known)


def test_labels_meet_by_name():
    aligned = align([predicted([[0, 1], [1]], ["new", "b"])], truth_of([[0], [1]], ["a", "b"]))
    space = aligned.truth.label_names
    assert space == ("a", "b", "new")
    assert aligned.predictions[0].labels.tolist() == [[2, 1], [1, -1]]
    assert aligned.predictions[0].n_labels == 3
    assert aligned.truth.Y.toarray().tolist() == [[1, 0, 0], [0, 1, 0]]


def test_the_training_labels_come_first():
    train = truth_of([[0], [1]], ["z", "b"])
    aligned = align([predicted([[0]], ["b"])], truth_of([[0]], ["a", "b"]), train=train)
    assert aligned.truth.label_names == ("z", "b", "a")
    assert aligned.predictions[0].labels.tolist() == [[1]]
    assert aligned.train.Y.toarray().tolist() == [[1, 0, 0], [0, 1, 0]]


def test_ids_are_those_of_the_truth():
    train = truth_of([[0]], ["b"])
    aligned = align([predicted([[0, 1]])], truth_of([[0]], ["a", "b"]), train=train)
    assert [aligned.truth.label_names[i] for i in aligned.predictions[0].labels[0]] == ["a", "b"]


def test_truth_without_names():
    aligned = align([predicted([[0]], ["2"])], truth_of([[2]]))
    assert aligned.predictions[0].labels.tolist() == [[2]]


def test_rows_meet_by_uid():
    truth = truth_of([[0], [1]], ["a", "b"], uids=["q1", "q2"])
    aligned = align([predicted([[1], [0]], ["a", "b"], uids=["q2", "q1"])], truth)
    assert aligned.predictions[0].labels.tolist() == [[0], [1]]


def test_rows_meet_by_position_without_uids():
    truth = truth_of([[0], [1]], ["a", "b"], uids=["q1", "q2"])
    aligned = align([predicted([[1], [0]], ["a", "b"])], truth)
    assert aligned.predictions[0].labels.tolist() == [[1], [0]]


@pytest.mark.parametrize(
    ("rows", "uids", "message"),
    [
        ([[0]], None, "predictions for 1 instances, the truth has 2"),
        ([[0]], ["q1"], "no prediction for 1 of 2 instances.*uid 'q2'"),
        ([[0], [0], [0]], ["q1", "q2", "q3"], "3 predictions for 2 instances"),
        ([[0], [0], [0]], ["q1", "q2", "q2"], "3 predictions for 2 instances"),
    ],
)
def test_rows_that_do_not_meet(rows, uids, message):
    truth = truth_of([[0], [1]], ["a", "b"], uids=["q1", "q2"])
    with pytest.raises(DataError, match=message):
        align([predicted(rows, ["a"], uids)], truth)


def test_an_id_outside_the_truth():
    with pytest.raises(DataError, match="label id 5, but the truth has 2 labels"):
        align([predicted([[5]])], truth_of([[0]], ["a", "b"]))


@pytest.mark.parametrize(
    ("convention", "predictions", "n_true"),
    [
        ("predictions", [[1, -1]], 2),
        ("both", [[1, -1]], 1),
        ("none", [[0, 1]], 2),
    ],
)
def test_filter_pairs(convention, predictions, n_true):
    truth = truth_of([[0, 1]], ["a", "b"], filter_pairs=np.array([[0, 0]]))
    aligned = align([predicted([[0, 1]], ["a", "b"])], truth).without_filter_pairs(convention)
    assert aligned.predictions[0].labels.tolist() == predictions
    assert aligned.truth.Y.nnz == n_true


def test_unknown_filter_convention():
    with pytest.raises(ConfigError, match="predictions, both, none, got 'all'"):
        align([predicted([[0]], ["a"])], truth_of([[0]], ["a"])).without_filter_pairs("all")
