from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.data import Dataset, PredictionFile, align
from multitudes.data.predictions.alignment import with_names
from multitudes.errors import ConfigError, DataError
from multitudes.metrics import UnknownLabels
from multitudes.types import Predictions


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


def test_ids_of_the_truth_for_names_of_the_predictions_are_refused():
    with pytest.raises(DataError, match="by name, such as 'a', and the truth by id"):
        align([predicted([[0]], ["1", "a"])], truth_of([[0]]))
    with pytest.raises(DataError, match="and the training data by id"):
        align([predicted([[0]], ["a"])], truth_of([[0]], ["a"]), train=truth_of([[0]]))


def test_ids_of_a_dataset_are_numbers_or_positions():
    unnamed = truth_of([[2], []])
    assert with_names(unnamed, ["7", "2", "30"]).label_names == ("0", "1", "2")
    assert with_names(unnamed, ["7", "b", "c", "d"]).label_names == ("7", "b", "c")
    assert with_names(truth_of([[0]], ["z"]), ["a"]).label_names == ("z",)
    with pytest.raises(DataError, match="ids up to 2 and no label names.*knows 2 labels, such as"):
        with_names(unnamed, ["a", "b"])


def test_predictions_as_a_file_has_them():
    blocks = [
        Predictions.from_lists([[1, 0], []], [[0.9, 0.1], []], 2),
        Predictions.from_lists([[0]], [[0.5]], 2),
    ]
    file = PredictionFile.of(blocks, ["a", "b"])
    truth = truth_of([[1], [0], [0]], ["b", "c", "a"])
    aligned = align([file], truth)
    assert aligned.truth.label_names == ("b", "c", "a")
    assert aligned.predictions[0].labels.tolist() == [[0, 2], [-1, -1], [2, -1]]
    assert aligned.predictions[0].scores[0].tolist() == pytest.approx([0.9, 0.1])


@pytest.mark.parametrize("leave_out", [False, True])
def test_labels_that_a_model_does_not_know(leave_out):
    truth = truth_of([[0, 1], [1, 2], [0]], ["a", "new", "old"])
    aligned = align([predicted([[0], [], []], ["a"])], truth)
    held = aligned.held_to(["a", "other"], leave_out=leave_out)
    assert held.unknown == UnknownLabels(2, 3, leave_out)
    assert held.truth.Y.toarray().tolist() == (
        [[1, 0, 0], [0, 0, 0], [1, 0, 0]] if leave_out else truth.Y.toarray().tolist()
    )
    assert aligned.truth.Y.nnz == 5  # what was given stays as it is


def test_a_predicted_label_is_known():
    aligned = align([predicted([[0]], ["new"])], truth_of([[0, 1]], ["new", "newer"]))
    assert aligned.held_to(["a"], leave_out=False).unknown == UnknownLabels(1, 1)
    with pytest.raises(DataError, match="'new', which the training data does not know"):
        aligned.held_to(["a"], leave_out=True, known_by="the training data")
