"""No argument makes a kernel, or SciPy, read or write out of bounds."""

import copy
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.errors import DataError, MultitudesError, ResourceError
from multitudes.labels import LabelTree
from multitudes.linear import XRLinear
from multitudes.metrics import evaluate
from multitudes.scores import average
from multitudes.types import Predictions
from multitudes.validation import checked_features, checked_predictions
from multitudes.validation.passes import SMALL

ROOT = Path(__file__).parents[2]
N_EXAMPLES = 12  # of each of the calls; a campaign makes more


def test_no_corrupt_matrix_ends_the_process_or_raises_what_is_not_ours():
    """In a child, in one batch: if it ends, the last line of its errors names the call."""
    found = subprocess.run(
        [sys.executable, "-m", "tests.reliability.corrupt", str(N_EXAMPLES), "0"],
        cwd=ROOT, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert found.returncode == 0, f"{found.stdout[-3000:]}\n{found.stderr[-300:]}"
    assert len(found.stderr.splitlines()) > 500


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = sp.csr_array((rng.random((20, 6)) * (rng.random((20, 6)) < 0.5)).astype(np.float32))
    Y = sp.csr_array(np.eye(4, dtype=np.float32)[np.arange(20) % 4])
    return XRLinear(branching=2, max_leaf_size=2, n_jobs=1).fit(X, Y)


def matrix(indices, indptr=(0, 2), shape=(1, 6), dtype=np.int32):
    made = sp.csr_array(shape, dtype=np.float32)
    made.data = np.ones(len(indices), np.float32)
    made.indices, made.indptr = np.array(indices, dtype), np.array(indptr, dtype)
    return made


def test_flags_that_lie_are_not_believed(model):
    for indices in ((3, 1), (2, 2)):
        X = matrix(indices)
        X.has_canonical_format = True
        sound = sp.csr_array(sp.coo_array(([1, 1], ([0, 0], indices)), shape=(1, 6)))
        np.testing.assert_array_equal(checked_features(X).toarray(), sound.toarray())
        assert checked_features(X).has_canonical_format


def test_row_pointers_whose_difference_overflows_are_refused():
    far = (0, 2**31 - 1, -2, 2)
    with pytest.raises(DataError, match="row pointers"):
        checked_features(matrix((0, 1), far, (3, 6)))
    with pytest.raises(DataError, match="children"):
        LabelTree((np.array([0, 3]), np.array([0, 2**63 - 1, -2, 2])), np.array([0, 1]), 2)


def test_whole_numbers_of_64_bits_do_not_wrap_around(model):
    with pytest.raises(DataError, match="column index 4294967297 outside"):
        model.predict(matrix((0, 2**32 + 1), dtype=np.int64))
    with pytest.raises(DataError, match=r"int32 ids, got 4294967297"):
        LabelTree((np.array([0, 2]),), np.array([0, 2**32 + 1]), 2)
    with pytest.raises(DataError, match="label 4294967296 is not"):
        Predictions(np.array([[2**32]]), np.zeros((1, 1), np.float32), 4)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "dok", "lil", "dia"])
def test_huge_shapes_are_refused_before_memory_is_taken(kind):
    made = getattr(sp, f"{kind}_array")((1, 2**31 - 2) if kind in ("csr", "lil") else (10, 10))
    made._shape = (1, 2**62) if kind in ("csr", "lil") else (2**45, 10)
    with pytest.raises((DataError, ResourceError)):
        checked_features(made)


def test_other_threads_cannot_change_what_a_kernel_reads():
    """While a matrix is checked again and again, another thread writes nonsense into it."""
    n = SMALL + 1
    given = sp.csr_array((1, 8), dtype=np.float32)
    given.data, given.indptr = np.ones(n, np.float32), np.array([0, n], np.int32)
    given.indices = np.zeros(n, np.int32)
    stopped = threading.Event()

    def write():
        while not stopped.is_set():
            given.indices[:] = 2**30
            given.indices[:] = 0

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(20):
            try:
                found = checked_features(given)
            except DataError:
                continue
            assert found.indices.max(initial=0) < 8
    finally:
        stopped.set()
        writer.join()


def test_what_was_checked_is_checked_again_and_not_copied_again():
    X = checked_features(matrix((0, 1)))
    assert checked_features(X) is X
    X.indices[0] = 99
    with pytest.raises(DataError, match="column index 99"):
        checked_features(X)
    for again in (copy.copy(X), copy.deepcopy(X), pickle.loads(pickle.dumps(X))):
        with pytest.raises(DataError, match="column index 99"):
            checked_features(again)


def test_a_tree_does_not_change_with_the_arrays_it_was_made_of():
    slots = np.arange(3, dtype=np.int32)
    tree = LabelTree((np.array([0, 3]),), slots, 3)
    slots[0] = 10**9
    assert tree.slot_labels.tolist() == [0, 1, 2]


def test_predictions_changed_later_are_refused_by_what_counts_in_them(model):
    found = Predictions(np.array([[0, 1]]), np.array([[1.0, 0.5]]), 3)
    found.labels[0, 0] = 10**9
    for call in (
        lambda: checked_predictions(found),
        lambda: average([found, found], top_k=1),
        lambda: evaluate(found, [[0]]),
    ):
        with pytest.raises(DataError, match="label 1000000000 is not in"):
            call()


def test_scores_that_are_no_numbers_are_refused_by_evaluation():
    found = Predictions(np.array([[0, 1]]), np.array([[np.nan, 0.5]]), 3)
    with pytest.raises(DataError, match="instance 0, rank 1: the score is NaN"):
        evaluate(found, [[0]])


@pytest.mark.parametrize("label", [2**31, 10**30])
def test_label_ids_without_end_are_refused_by_evaluation(label):
    with pytest.raises(MultitudesError, match="too large|label space"):
        evaluate([[label]], [[0]])
