"""Indices, seeds, cut-offs and names that are not what they should be are refused by us."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes import Dataset, Tagger, XRLinear
from multitudes.errors import ConfigError, DataError, MultitudesError, ResourceError
from multitudes.groups import imputation_accuracy
from multitudes.labels import LabelTree
from multitudes.metrics import evaluate, frequency_bins, ndcg_at_k, set_scores
from multitudes.tagger import parse_settings
from multitudes.types import Predictions

Y = sp.csr_array(np.eye(4, dtype=np.float32))
FOUND = Predictions.from_lists([[0], [1], [2], [0]], None, 4)
TREE = LabelTree.from_leaves([[0, 1], [2, 3]])
DATA = Dataset(Y=Y, texts=["a", "b", "c", "d"], label_names=["p", "q", "r", "s"])


def corrupt() -> sp.csr_array:
    matrix = Y.copy()
    matrix.indices = np.array([0, 1, 2, 10**6], np.int32)
    return matrix


@pytest.mark.parametrize("index", [-1, 4, 2**70, 1.0, "0", None, True])
def test_an_index_outside_is_refused(index):
    for ask in (DATA.label_name, DATA.labels_of, TREE.labels_of_leaf, TREE.parents):
        with pytest.raises(DataError, match="from 0 to"):
            ask(index)


def test_corrupt_matrices_are_refused_by_what_only_compares_them():
    with pytest.raises(DataError, match="imputation"):
        imputation_accuracy(corrupt(), Y)
    with pytest.raises(DataError, match="sparse matrix"):
        Predictions.from_lists(corrupt(), None, 4)


def test_a_cut_off_of_any_size_takes_no_memory():
    assert ndcg_at_k(FOUND, Y, k=2**31 - 1) == ndcg_at_k(FOUND, Y, k=4)
    with pytest.raises(ConfigError):
        ndcg_at_k(FOUND, Y, k=2**31)


def test_sizes_are_asked_for_first():
    with pytest.raises((ResourceError, MultitudesError)):
        LabelTree.flat(2**40)
    with pytest.raises((ResourceError, MultitudesError)):
        Predictions.from_csr(Y, 2**50)


def test_zero_division_may_be_a_whole_number():
    nothing = Predictions.from_lists([[], [], [], []], None, 4)
    assert set_scores(nothing, sp.csr_array((4, 4)), average="example", zero_division=1)[0] == 1


def test_a_seed_may_be_a_numpy_number():
    X = sp.csr_array(np.eye(4, dtype=np.float32))
    first = XRLinear(random_state=np.int64(2)).fit(X, Y).predict(X, top_k=2)
    second = XRLinear(random_state=2).fit(X, Y).predict(X, top_k=2)
    assert np.array_equal(first.scores, second.scores)


@pytest.mark.parametrize("settings", [[("a", 1)], {None: 1}])
def test_settings_are_a_mapping_of_names(settings):
    with pytest.raises(ConfigError, match="mapping of names"):
        Tagger(settings=settings).fit(["a", "b"], [["x"], ["y"]])


def test_other_odd_arguments_are_refused():
    with pytest.raises(ConfigError, match="name=value"):
        parse_settings([["branching=3"]])
    with pytest.raises(ConfigError, match="that fall"):
        frequency_bins(Y, min_counts=(float("nan"),))
    with pytest.raises(DataError, match="mapping"):
        FOUND.to_lists({0: "a", 1: "b", 2: "c", 3: "d"})
    with pytest.raises(DataError, match="one top_k"):
        Predictions.joined([FOUND, FOUND.top(0)])


@pytest.mark.parametrize("kind", [">f4", np.float16, np.longdouble])
def test_numbers_of_any_width_and_byte_order_are_taken(kind):
    dense = np.array([[0.5, 0, 2], [0, 1, 0]], kind)
    assert Predictions.from_csr(dense, 2).labels.tolist() == [[2, 0], [1, -1]]
    assert evaluate(dense, np.array([[0, 0, 1], [0, 1, 0]]))["P@1"] == 1


def test_arguments_that_cannot_be_meant_are_named():
    from multitudes.labels import concatenate
    from multitudes.validation import checked_label_ids, checked_removal

    with pytest.raises(MultitudesError, match="weights must be a number"):
        concatenate([np.eye(2)], weights=["much"])
    with pytest.raises(MultitudesError, match="n_labels must be a whole number"):
        checked_label_ids([0], np.zeros((2, 2)))
    with pytest.raises(MultitudesError, match="whole number"):
        checked_removal([2**64], 2**70)
    with pytest.raises(MultitudesError, match="not valid Unicode"):
        Predictions.from_lists([[0]], None, 1).to_frame(["\ud800"])


def test_row_pointers_that_fall_are_refused_where_nothing_is_stored():
    empty = sp.csr_array((3, 0), dtype=np.float32)
    empty.indptr = np.array([0, 5, 0, 0], np.int32)
    with pytest.raises(DataError, match="row pointers fall"):
        Predictions.from_csr(empty, 1)


def test_names_of_rows_that_no_frame_holds_are_refused():
    with pytest.raises(DataError, match="not valid Unicode"):
        FOUND.to_frame(rows=["\ud800", "b", "c", "d"])


@pytest.mark.parametrize("wrong", [3, np.float32(1), np.array(1.0), sp.dia_array((1, 1))])
def test_what_is_no_column_is_a_data_error(wrong):
    pytest.importorskip("pandas")
    with pytest.raises(DataError, match="got"):
        Predictions.from_lists([[0]], [[1.0]], n_labels=2).to_frame(rows=wrong)
    with pytest.raises(DataError, match="got"):
        Dataset.from_lists(["a"], [["x"]], uids=wrong)
