"""Labels that a model does not know: counted, left out, and what is said about them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.metrics import UnknownLabels, compare, evaluate
from multitudes.metrics.unknown import split_unknown

IS_KNOWN = np.array([True, False, True, False])


def test_they_are_counted_and_stay():
    Y = sp.csr_array(np.array([[1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0]], np.float32))
    kept, unknown = split_unknown(Y, IS_KNOWN)
    assert unknown == UnknownLabels(2, 3, left_out=False)
    assert (kept != Y).nnz == 0


def test_they_are_left_out():
    Y = sp.csr_array(np.array([[1, 1, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0]], np.float32))
    kept, unknown = split_unknown(Y, IS_KNOWN, leave_out=True)
    assert unknown == UnknownLabels(2, 3, left_out=True)
    assert kept.toarray().tolist() == [[1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]]
    assert Y.nnz == 5


def test_stored_zeros_are_no_labels():
    Y = sp.csr_array((np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 4))
    assert split_unknown(Y, IS_KNOWN)[1] == UnknownLabels(0, 0)


@pytest.mark.parametrize(
    ("unknown", "notes"),
    [
        (UnknownLabels(0, 0), ()),
        (UnknownLabels(0, 0, True), ("No label of the truth is unknown to the model.",)),
        (
            UnknownLabels(412, 1530),
            (
                "412 labels of the truth (1,530 assignments) are unknown to the model and count "
                "as missed; known_labels=True leaves them out.",
            ),
        ),
        (
            UnknownLabels(1, 1, known_by="the training data"),
            (
                "1 label of the truth (1 assignment) is unknown to the training data and counts "
                "as missed; known_labels=True leaves them out.",
            ),
        ),
        (
            UnknownLabels(2, 3, True),
            (
                "2 labels of the truth (3 assignments) are unknown to the model: left out by "
                "known_labels=True.",
            ),
        ),
    ],
)
def test_what_is_said(unknown, notes):
    assert unknown.notes() == notes


def test_reports_and_comparisons_carry_it(case):
    unknown = UnknownLabels(2, 3)
    report = evaluate(case.ranked, case.truth)
    assert report.with_unknown(None) is report
    noted = report.with_unknown(unknown)
    assert noted.notes == (*unknown.notes(), *report.notes)
    assert noted.to_dict()["unknown_labels"]["n_assignments"] == 3
    assert "2 labels of the truth" in noted.table()
    comparison = compare(case.ranked, case.ranked, case.truth).with_unknown(unknown)
    assert comparison.to_dict()["unknown_labels"]["n_labels"] == 2
    assert comparison.to_dict()["notes"] == list(unknown.notes())
    assert "2 labels of the truth" in comparison.table()
