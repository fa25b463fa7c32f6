"""Who gets the labels of a group."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from multitudes.errors import ConfigError, DataError
from multitudes.groups import Imputation, candidates, group_label_embeddings, impute, spread
from tests.groups.problems import words_of_labels
from tests.kernels.twins import groups as reference


def right(imputation, Y):
    """The part of the assigned labels that are right."""
    return imputation.Y.multiply(Y).sum() / imputation.Y.nnz


@pytest.fixture(scope="module")
def data():
    return words_of_labels()


# --- known answers


def test_the_toy_example_of_figure_1():
    x = np.array([3.0, -1.0, 2.0])
    X = np.array([x, -x] * 3, np.float32)
    groups = sp.csr_array(np.kron(np.eye(3), np.ones((2, 1))))
    found = impute(X, groups, sp.csr_array(np.ones((3, 2))))
    assert found.Y.toarray().tolist() == [[1, 0], [0, 1]] * 3


def test_groups_of_one_keep_their_labels(data):
    X, Y, _, _ = data
    alone = sp.csr_array(np.eye(X.shape[0], dtype=np.float32))
    found = impute(X, alone, Y)
    np.testing.assert_array_equal(found.Y.toarray(), Y.toarray())
    assert np.isposinf(found.margins.data).all()


def test_assignments_take_no_more_memory_than_they_need(data):
    X, _, groups, group_labels = data
    for Y in (impute(X, groups, group_labels).Y, spread(groups, group_labels)):
        assert (Y.dtype, Y.indices.dtype, Y.indptr.dtype) == (np.float32, np.int32, np.int32)


def test_steps_and_contrast_find_more():
    X, Y, groups, group_labels = words_of_labels(size=10, noise=6, as_counts=False)
    start, steps, contrast = (
        right(impute(X, groups, group_labels, **options), Y)
        for options in ({"n_steps": 0}, {}, {"n_steps": 0, "contrast": True})
    )
    assert start + 0.1 < steps < contrast - 0.05


def test_counts_give_every_label_of_a_list_to_somebody(data):
    X, Y, groups, group_labels = data
    found = impute(X, groups, group_labels, use_counts=True, contrast=True, n_steps="auto")
    np.testing.assert_array_equal((groups.T @ found.Y).toarray(), group_labels.toarray())
    assert right(found, Y) > 0.95


def test_equals_a_plain_loop_over_the_embeddings(data):
    """Algorithm 2, from the embeddings that `group_label_embeddings` returns."""
    X, _, groups, group_labels = data
    embeddings = group_label_embeddings(X, groups, group_labels).toarray().astype(np.float64)
    dense = X.toarray().astype(np.float64)
    expected = np.zeros((X.shape[0], group_labels.shape[1]))
    by_group = groups.tocsc()
    for group, labels in enumerate(group_labels.toarray()):
        members = by_group.indices[by_group.indptr[group] : by_group.indptr[group + 1]]
        for label in np.flatnonzero(labels):
            cosines = reference.cosines(dense[members], embeddings[label])
            expected[members[reference.best_of(np.round(cosines, 5))], label] = 1
    found = impute(X, groups, group_labels).Y.toarray()
    assert (found != expected).sum() == 0


# --- options


def test_margins_say_how_far_the_next_one_is():
    X = np.array([[1, 0], [0.8, 0.6], [0, 1]], np.float32)
    groups = sp.csr_array(np.array([[1, 1], [1, 0], [1, 0]]))
    group_labels = sp.csr_array(np.array([[0, 1], [1, 1]]))
    found = impute(X, groups, group_labels, n_steps=0)
    assert found.margins.shape == (2, 2)
    sums = np.array([[1, 0], [2.8, 1.6]])
    first, second = sorted(X @ sums[1] / np.linalg.norm(sums[1]), reverse=True)[:2]
    assert found.margins.toarray()[0, 1] == pytest.approx(first - second, abs=1e-5)
    assert np.isposinf(found.margins.toarray()[1]).all()  # the group's only member


def test_a_margin_lets_more_instances_keep_a_label(data):
    X, _, groups, group_labels = data
    plain = impute(X, groups, group_labels)
    smallest = np.sort(plain.margins.data[plain.margins.data > 0])[5]
    wider = impute(X, groups, group_labels, margin=float(smallest) * 1.01)
    everyone = impute(X, groups, group_labels, margin=3.0)
    assert plain.Y.nnz < wider.Y.nnz < everyone.Y.nnz
    assert wider.Y.multiply(plain.Y).nnz == plain.Y.nnz
    np.testing.assert_array_equal(everyone.Y.toarray(), spread(groups, group_labels).toarray())


def test_counts_are_honored_up_to_the_size_of_the_group():
    X = np.eye(3, dtype=np.float32)
    groups = sp.csr_array(np.array([[1, 0], [1, 0], [0, 1]]))
    group_labels = sp.csr_array(np.array([[2.0], [7.0]]))
    assert impute(X, groups, group_labels, use_counts=True).Y.toarray().tolist() == [[1]] * 3
    once = impute(X, groups, group_labels)
    assert once.Y.toarray().tolist() == [[1], [0], [1]]
    assert once.counts.surplus == 1


@given(st.floats(0.01, 5), st.booleans())
def test_soft_labels_add_up_to_one_in_each_group(temperature, contrast):
    X, _, groups, group_labels = words_of_labels(n=24)
    soft = impute(X, groups, group_labels, soft=True, temperature=temperature, contrast=contrast)
    np.testing.assert_allclose((groups.T @ soft.Y).toarray(), group_labels.toarray() > 0, atol=1e-5)


def test_soft_labels_are_hard_ones_when_cold_and_even_when_hot(data):
    X, _, groups, group_labels = data
    hard = impute(X, groups, group_labels)
    cold = impute(X, groups, group_labels, soft=True, temperature=1e-4)
    clear = hard.margins.data > 0.01
    assert clear.mean() > 0.5
    members = (cold.Y > 0.99).astype(np.float32)
    assert members.multiply(hard.Y).nnz >= clear.sum()
    hot = impute(X, groups, group_labels, soft=True, temperature=1e6)
    np.testing.assert_allclose(hot.Y.data, 0.25, rtol=1e-4)


# --- instances in several groups, and in none


def test_an_instance_of_two_groups_gets_a_label_once():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], np.float32)
    groups = sp.csr_array(np.array([[1, 1], [1, 0], [0, 1]]))
    both = sp.csr_array(np.array([[1.0], [1.0]]))
    found = impute(X, groups, both, n_steps=0)
    assert found.Y.toarray().tolist() == [[1], [0], [0]]
    assert found.Y.nnz == 1
    soft = impute(X, groups, both, n_steps=0, soft=True)
    np.testing.assert_allclose(soft.Y.toarray()[0], soft.Y.data.max())


def test_what_cannot_be_used_is_left_out_and_counted(data):
    X, _, groups, group_labels = data
    odd_groups = groups.toarray()
    odd_groups[:3] = 0  # instances in no group
    odd_groups[:, 7] = 0  # a group without instances
    odd_labels = group_labels.toarray()
    odd_labels[8] = 0  # a group without labels
    odd_labels[:, 4] = 0  # a label in no group
    found = impute(X, sp.csr_array(odd_groups), sp.csr_array(odd_labels))
    assert found.Y[:3].nnz == 0
    assert found.Y[:, [4]].nnz == 0
    assert found.Y[np.flatnonzero(odd_groups[:, 8])].nnz == 0
    assert np.isposinf(found.margins.toarray()[7][odd_labels[7] > 0]).all()
    counts = found.counts
    assert (counts.in_no_group, counts.empty, counts.unlabeled) == (7, 1, 1)
    assert (counts.unseen_labels, counts.empty_listed) == (1, int((odd_labels[7] > 0).sum()))


def test_no_instances_and_no_groups():
    nothing = impute(
        np.zeros((0, 3), np.float32),
        sp.csr_array((0, 0), dtype=np.float32),
        sp.csr_array((0, 2), dtype=np.float32),
    )
    assert isinstance(nothing, Imputation)
    assert (nothing.Y.shape, nothing.margins.shape) == ((0, 2), (0, 2))


# --- the same for everybody


@pytest.mark.parametrize("options", [{}, {"contrast": True}, {"soft": True}, {"margin": 0.1}])
def test_threads_and_blocks_change_nothing(data, monkeypatch, options):
    X, _, groups, group_labels = data
    whole = impute(X, groups, group_labels, n_jobs=1, **options)
    monkeypatch.setattr(candidates, "BLOCK", 100)
    cut = impute(X, groups, group_labels, n_jobs=2, **options)
    for one, other in ((whole.Y, cut.Y), (whole.margins, cut.margins)):
        np.testing.assert_array_equal(one.toarray(), other.toarray())


@pytest.mark.parametrize("contrast", [False, True])
def test_sparse_and_dense_are_alike(data, contrast):
    X, _, groups, group_labels = data
    sparse = impute(X, groups, group_labels, contrast=contrast)
    dense = impute(X.toarray(), sp.csc_array(groups), group_labels, contrast=contrast)
    np.testing.assert_array_equal(sparse.Y.toarray(), dense.Y.toarray())


def test_the_result_is_canonical(data):
    X, _, groups, group_labels = data
    found = impute(X, groups, group_labels)
    for matrix in (found.Y, found.margins):
        assert isinstance(matrix, sp.csr_array)
        assert matrix.dtype == np.float32
        assert matrix.has_sorted_indices
    np.testing.assert_array_equal(found.margins.indices, group_labels.indices)


def test_the_callers_data_is_left_alone(data):
    copies = [matrix.copy() for matrix in data]
    impute(*(copies[i] for i in (0, 2, 3)), contrast=True, use_counts=True)
    for copy, before in zip(copies, data, strict=True):
        np.testing.assert_array_equal(copy.data, before.data)
        np.testing.assert_array_equal(copy.indices, before.indices)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"margin": -0.1}, "margin must be a number >= 0, got -0.1"),
        ({"margin": np.nan}, "margin must be a number >= 0, got nan"),
        ({"margin": "wide"}, "margin must be a number >= 0, got 'wide'"),
        ({"soft": True, "temperature": 0}, "temperature must be a number > 0, got 0"),
        ({"temperature": None}, "temperature must be a number > 0, got None"),
        ({"n_steps": 2.5}, "n_steps"),
    ],
)
def test_bad_settings_are_refused(data, settings, message):
    X, _, groups, group_labels = data
    with pytest.raises(ConfigError, match=message):
        impute(X, groups, group_labels, **settings)


def test_shapes_that_disagree_are_refused(data):
    X, _, groups, group_labels = data
    with pytest.raises(DataError, match="X has 239 rows and groups has 240"):
        impute(X[:-1], groups, group_labels)


# --- the naive baseline


def test_spread_is_the_product_of_memberships_and_labels():
    groups = sp.csr_array(np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0]]))
    group_labels = sp.csr_array(np.array([[2, 0], [1, 3], [0, 1]]))
    found = spread(groups, group_labels)
    assert found.toarray().tolist() == [[1, 0], [1, 1], [0, 0]]
    assert (found.dtype, type(found)) == (np.float32, sp.csr_array)
    with pytest.raises(DataError, match="groups has 3 columns and group_labels 2 rows"):
        spread(groups, group_labels[:2])
