"""What X, Y, weights and counts may be, and what is said where they are not."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.errors import ConfigError, DataError
from multitudes.validation import (
    checked_count,
    checked_features,
    checked_hard_negatives,
    checked_label,
    checked_label_ids,
    checked_labels,
    checked_weights,
    passes,
)

DENSE = np.array([[0, 1.5, 0], [2, 0, -3], [0, 0, 0]], np.float32)


def corrupt(indices=(0, 1), indptr=(0, 1, 2), shape=(2, 3), kind=sp.csr_array):
    """A matrix put together without scipy's checks."""
    matrix = kind(shape, dtype=np.float32)
    matrix.data = np.ones(len(indices), np.float32)
    matrix.indices, matrix.indptr = np.array(indices, np.int32), np.array(indptr, np.int32)
    return matrix


# --- X


@pytest.mark.parametrize(
    "given",
    [
        DENSE,
        DENSE.tolist(),
        DENSE.astype(np.float64),
        DENSE.astype(np.float16),
        np.asfortranarray(DENSE),
        sp.csr_array(DENSE),
        sp.csr_matrix(DENSE),
        sp.csc_array(DENSE),
        sp.coo_matrix(DENSE),
        sp.lil_array(DENSE),
        sp.bsr_array(DENSE.astype(np.float64)),
        sp.dia_array(DENSE),
        sp.dok_matrix(DENSE),
        sp.lil_matrix(DENSE.astype(np.int8).astype(np.float32) + (DENSE == 1.5) * 0.5),
        sp.csr_array(DENSE.astype(np.float64)),
    ],
    ids=lambda given: f"{type(given).__name__}-{getattr(given, 'dtype', '')}",
)
def test_any_matrix_of_numbers_becomes_float32_csr(given):
    X = checked_features(given, n_features=3)
    assert X.format == "csr"
    assert X.dtype == np.float32
    assert X.has_canonical_format
    np.testing.assert_array_equal(X.toarray(), DENSE)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, bool])
def test_whole_numbers_and_flags_are_numbers(dtype):
    values = np.array([[0, 1], [1, 0]], dtype)
    for given in (values, sp.csr_array(values)):
        np.testing.assert_array_equal(checked_features(given).toarray(), values.astype(np.float32))


def test_values_are_not_copied_and_indices_once():
    given = sp.csr_array(DENSE)
    X = checked_features(given)
    assert np.shares_memory(X.data, given.data)
    assert not np.shares_memory(X.indices, given.indices)
    assert not np.shares_memory(X.indptr, given.indptr)
    assert checked_features(X) is X


def test_indices_that_nobody_can_write_are_not_copied():
    given = sp.csr_array(DENSE)
    given.indices = given.indices.copy()  # scipy's own may be a view of something else
    given.indices.flags.writeable = False
    assert np.shares_memory(checked_features(given).indices, given.indices)
    view = sp.csr_array(DENSE)
    owner, view.indices = view.indices, view.indices[:]
    view.indices.flags.writeable = False
    assert owner.flags.writeable
    assert not np.shares_memory(checked_features(view).indices, owner)


def test_unsorted_and_repeated_indices_are_put_in_order_in_a_copy():
    X = corrupt(indices=(2, 0, 2), indptr=(0, 3), shape=(1, 3))
    before = X.indices.copy()
    np.testing.assert_array_equal(checked_features(X).toarray(), [[1, 0, 2]])
    np.testing.assert_array_equal(X.indices, before)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.array, sp.csr_array])
def test_values_that_are_not_finite_are_named_with_their_place(value, kind):
    X = DENSE.copy()
    X[1, 2] = value
    with pytest.raises(DataError, match=rf"X has the value {value} at row 1, feature 2"):
        checked_features(kind(X))


@pytest.mark.parametrize("kind", [np.array, sp.csr_array])
def test_values_beyond_float32_are_not_finite(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match="value inf at row 0, feature 1"):
            checked_features(kind(np.array([[1.0, 1e300]])))


@pytest.mark.parametrize(
    ("given", "got"),
    [
        (["a text", "another"], "dtype <U7"),
        ([["1", "2"]], "dtype <U1"),
        (np.array([[1, 2]], object), "dtype object"),
        (np.array([[1j]]), "dtype complex128"),
        (sp.csr_array(np.array([[1j]])), "dtype complex128"),
        (np.array([["2026-01-01"]], "datetime64[D]"), "dtype datetime64"),
        (None, "dtype object"),
        ([1.0, 2.0], r"shape \(2,\)"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        (sp.coo_array(np.array([1.0, 2.0])), r"shape \(2,\)"),
        ([[1.0], [1.0, 2.0]], "rows of different lengths"),
    ],
    ids=str,
)
def test_what_is_no_matrix_of_numbers_is_refused(given, got):
    with pytest.raises(DataError, match=rf"X must be a \(n_instances, n_features\).*got {got}"):
        checked_features(given)


@pytest.mark.parametrize("index", [3, 1000, -1])
def test_indices_outside_the_matrix_are_refused(index):
    with pytest.raises(DataError, match=f"X has column index {index} outside its 3 columns"):
        checked_features(corrupt(indices=(0, index)))


@pytest.mark.parametrize("indptr", [(0, 1, 5), (1, 1, 2), (0, 2, 1), (0, 1, 1)])
def test_row_pointers_that_do_not_fit_are_refused(indptr):
    with pytest.raises(DataError, match="X has row pointers that do not fit"):
        checked_features(corrupt(indptr=indptr))


def test_fewer_values_than_indices_are_refused():
    broken = corrupt()
    broken.data = broken.data[:1]
    with pytest.raises(DataError, match="X has row pointers that do not fit its values"):
        checked_features(broken)


@pytest.mark.parametrize("indices", [(0, 7), (-1, 0)])
def test_other_formats_are_checked_before_they_are_converted(indices):
    broken = corrupt(indices=indices, indptr=(0, 1, 2, 2), shape=(2, 3), kind=sp.csc_array)
    with pytest.raises(DataError, match=r"X has row index (7|-1) outside its 2 rows"):
        checked_features(broken)


def test_another_number_of_features_is_refused():
    with pytest.raises(
        DataError, match="X has 3 features, but the model is expecting 1,234 features"
    ):
        checked_features(DENSE, n_features=1234)


def test_no_rows_and_no_columns_are_legal():
    assert checked_features(np.zeros((0, 4))).shape == (0, 4)
    assert checked_features(sp.csr_array((3, 0))).shape == (3, 0)


@pytest.mark.parametrize("is_compiled", [True, False])
def test_numpy_finds_what_the_compiled_passes_find(is_compiled, monkeypatch):
    monkeypatch.setattr(passes, "_is_compiled", lambda values: is_compiled)
    starts = np.array([0, 2, 2, 3])
    for indices, expected in (
        ([1, 2, 0], (-1, True)),
        ([2, 1, 0], (-1, False)),
        ([1, 1, 0], (-1, False)),
        ([1, 2, 3], (2, False)),
        ([-1, 2, 3], (0, False)),
    ):
        out = np.empty(3, np.int32)
        assert passes.check_rows(starts, np.array(indices, np.int32), 3, out) == expected
        assert passes.check_rows(starts, np.array(indices, np.int32), 3, out[:0]) == expected
    assert passes.check_rows(np.zeros(4, np.int64), np.zeros(0, np.int32), 3, out[:0]) == (-1, True)
    found = [
        passes.first_wrong_start(np.array(wrong), 3)
        for wrong in ([0, 3], [], [1, 3], [0, 3, 2, 3], [0, 2])
    ]
    assert found == [-1, 0, 0, 2, 1]
    assert passes.first_outside(np.array([0, 5, 9]), 0, 5) == 1
    assert passes.first_not_finite(np.array([[0, 1.0], [np.nan, 2]])) == 2


# --- Y


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, bool])
@pytest.mark.parametrize(
    "kind", [np.array, sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array]
)
def test_labels_become_zeros_and_ones(dtype, kind):
    values = np.array([[0, 1, 0], [1, 1, 0]], dtype)
    Y = checked_labels(kind(values), n_instances=2)
    assert isinstance(Y, sp.csr_array)
    np.testing.assert_array_equal(Y.toarray(), values)


def test_any_positive_value_is_a_label_and_stored_zeros_are_not():
    given = sp.csr_array(
        (np.array([2.0, 0.0, 0.5, 1.0, 1.0]), np.array([2, 0, 1, 1, 0]), np.array([0, 2, 4, 5])),
        shape=(3, 3),
    )
    before = given.copy()
    Y = checked_labels(given, n_instances=3)
    np.testing.assert_array_equal(Y.toarray(), [[0, 0, 1], [0, 1, 0], [1, 0, 0]])
    assert Y.nnz == 3
    np.testing.assert_array_equal(given.data, before.data)
    np.testing.assert_array_equal(given.indices, before.indices)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([["a", "b"], ["c", "d"]], "y must be a .n_instances, n_labels.*<U1.*multitudes.Tagger"),
        ([[1], [1, 2]], "y must be a .*rows of different lengths"),
        (np.ones(2), r"y must be a .*shape \(2,\)"),
        (np.array([[1j], [0]]), "y must be a .*complex128"),
        (np.array([[1.0], [np.nan]]), "y has NaN, infinite or negative values"),
        (np.array([[1.0], [np.inf]]), "y has NaN, infinite or negative values"),
        (np.array([[1], [-1]]), "y has NaN, infinite or negative values"),
        (np.ones((3, 1)), "X has 2 rows and y has 3"),
        (np.ones((1, 1)), "X has 2 rows and y has 1"),
        (np.ones((2, 0)), "y has no labels"),
        (np.zeros((2, 4)), "no instance has a label"),
        (corrupt(indices=(0, 9)), "y has column index 9 outside its 3 columns"),
        (None, "requires y to be passed, but the target y is None"),
    ],
)
def test_labels_that_cannot_be_used_are_refused(given, message):
    with pytest.raises(DataError, match=message):
        checked_labels(given, n_instances=2)


def test_another_number_of_labels_is_refused():
    with pytest.raises(DataError, match="y has 3 labels, but the model has 4"):
        checked_labels(np.ones((2, 3)), n_instances=2, n_labels=4)


def test_hard_negatives_are_checked_as_labels_are():
    assert checked_hard_negatives(None, (2, 3)) is None
    assert checked_hard_negatives(np.zeros((2, 3)), (2, 3)).nnz == 0
    with pytest.raises(DataError, match=r"hard_negatives must have the shape of y, \(2, 3\)"):
        checked_hard_negatives(np.ones((2, 4)), (2, 3))
    with pytest.raises(DataError, match="hard_negatives has column index 9"):
        checked_hard_negatives(corrupt(indices=(0, 9)), (2, 3))


# --- weights, ids and counts


def test_weights_become_float32():
    assert checked_weights(None, 3, "sample_weight") is None
    weights = checked_weights([0, 1, 2], 3, "sample_weight")
    assert weights.dtype == np.float32
    assert weights.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, 2], r"sample_weight must have 3 entries, got shape \(2,\)"),
        (1.0, r"sample_weight must have 3 entries, got shape \(\)"),
        ([[1], [2, 3]], "sample_weight must have 3 entries"),
        (["a", "b", "c"], "sample_weight must hold numbers, got dtype <U1"),
        ([1, -1, 1], "sample_weight must hold finite numbers >= 0"),
        ([1, np.nan, 1], "sample_weight must hold finite numbers >= 0"),
        ([1, 1e300, 1], "sample_weight must hold finite numbers >= 0"),
        ([0, 0, 0], "sample_weight is zero everywhere"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(given, message):
    with pytest.raises(DataError, match=message):
        checked_weights(given, 3, "sample_weight")


def test_label_ids():
    assert checked_label_ids([3, 0, 3], 4).tolist() == [3, 0, 3]
    assert checked_label_ids([], 4).tolist() == []
    assert checked_label(np.int64(3), 4) == 3


@pytest.mark.parametrize("given", [[4], [0, -1], ["a"], [0.5], [[0, 1]], 3, [True], [[0], [1, 2]]])
def test_ids_of_no_label_are_refused(given):
    with pytest.raises(DataError, match="labels must be"):
        checked_label_ids(given, 4)


@pytest.mark.parametrize("given", [4, -1, "a", 0.5, True, None])
def test_an_id_of_no_label_is_refused(given):
    with pytest.raises(DataError, match="label must be an id from 0 to 3, got"):
        checked_label(given, 4)


def test_counts():
    assert checked_count(np.int32(3), "top_k") == 3
    assert checked_count(0, "random_state", at_least=0) == 0
    for value in (0, -1, 1.0, "3", None, True):
        with pytest.raises(ConfigError, match="top_k must be a whole number >= 1, got"):
            checked_count(value, "top_k")
