"""Embeddings of grouped labels against their slow twin."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from multitudes.groups.candidates import checked_candidates
from multitudes.groups.embeddings import instance_rows
from multitudes.kernels.groups import embeddings as group_embeddings
from multitudes.kernels.groups.embeddings import learn_embeddings
from tests.kernels.twins import groups as reference


def learned(X, groups, group_labels, *, n_steps=20, step=0.1, contrast=False):
    """For each label the cosines of its places and its embedding, from the kernel."""
    candidates = checked_candidates(groups, group_labels)
    x = instance_rows(X, candidates, contrast=contrast)
    places = candidates.label_places()
    cosine = np.full(places[-1], np.nan, np.float32)
    coefficient = np.full(places[-1], np.nan, np.float32)
    total, local_of = np.zeros(X.shape[1], np.float32), np.zeros(X.shape[1], np.uint32)
    learn_embeddings(
        x, candidates.group_indptr, candidates.members, candidates.label_indptr,
        candidates.pair_group, candidates.pair_count, 0, n_steps, step, total, local_of,
        cosine, coefficient,
    )  # fmt: skip
    assert not total.any()
    assert not local_of.any()
    return candidates, cosine, coefficient


def assert_equals_twin(X, groups, group_labels, *, contrast=False, **options):
    dense = X.toarray() if sp.issparse(X) else X
    candidates, cosine, coefficient = learned(X, groups, group_labels, contrast=contrast, **options)
    shifted = dense.astype(np.float64)
    if contrast:
        shifted = shifted - shifted[candidates.members].mean(axis=0)
    places = candidates.label_places()
    instances = candidates.instances()
    member_lists = groups.tocsc()
    for label in range(group_labels.shape[1]):
        own = [
            member_lists.indices[member_lists.indptr[g] : member_lists.indptr[g + 1]].tolist()
            for g in np.flatnonzero(group_labels.toarray()[:, label])
        ]
        counts = [count for count in group_labels.toarray()[:, label] if count]
        options = {"n_steps": 20, "step": 0.1} | options
        e = reference.learn_embedding(shifted, own, counts, label, **options)
        part = slice(places[label], places[label + 1])
        expected = reference.cosines(shifted[instances[part]], e)
        np.testing.assert_allclose(cosine[part], expected, atol=2e-4)
        summed = coefficient[part] @ shifted[instances[part]]
        np.testing.assert_allclose(summed, e, atol=2e-4)


def problem(seed, *, n=60, n_groups=15, n_labels=12, n_features=20, several=True):
    """Random sparse rows of length 1, in groups that overlap; some groups and labels are empty."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, n_features), density=0.3, rng=rng, format="csr").toarray()
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    groups = np.zeros((n, n_groups))
    groups[np.arange(n), rng.integers(0, n_groups - 1, n)] = 1
    if several:
        groups[rng.integers(0, n, 10), rng.integers(0, n_groups - 1, 10)] = 1
    labels = (rng.random((n_groups, n_labels)) < 0.3) * rng.integers(1, 3, (n_groups, n_labels))
    labels[:, -1] = 0
    return (
        sp.csr_array(X.astype(np.float32)),
        sp.csr_array(groups),
        sp.csr_array(labels.astype(np.float32)),
    )


@pytest.mark.parametrize("contrast", [False, True])
@pytest.mark.parametrize("n_steps", [0, 1, 20])
@pytest.mark.parametrize("dense", [False, True])
def test_equals_its_twin(dense, n_steps, contrast):
    X, groups, group_labels = problem(1)
    X = X.toarray() if dense else X
    assert_equals_twin(X, groups, group_labels, n_steps=n_steps, contrast=contrast)


@given(st.integers(0, 10**6), st.sampled_from([0.01, 0.1, 1.0, 1e6]))
def test_equals_its_twin_on_random_draws(seed, step):
    assert_equals_twin(*problem(seed, n=20, n_groups=6, n_labels=3), step=step, n_steps=4)


def test_a_label_too_large_to_be_gathered():
    rng = np.random.default_rng(0)
    X = rng.random((700, 400)).astype(np.float32)
    assert X.size > group_embeddings.GATHERED
    groups = sp.csr_array(np.eye(70)[np.arange(700) // 10])
    group_labels = sp.csr_array(np.stack([np.ones(70), np.arange(70) < 5], axis=1))
    assert_equals_twin(sp.csr_array(X), groups, group_labels, n_steps=3)


def test_rows_that_are_not_of_unit_length():
    X, groups, group_labels = problem(2)
    X = sp.csr_array(X * np.linspace(0.1, 10, 60)[:, None])
    assert_equals_twin(X.astype(np.float32), groups, group_labels, n_steps=3)


def test_equal_rows_tie_and_the_smaller_instance_wins():
    """Instances 2 i and 2 i + 1 are equal, and share a group."""
    X, _, group_labels = problem(3, n=30)
    X = sp.csr_array(X.toarray()[np.repeat(np.arange(30), 2)])
    groups = sp.csr_array(np.eye(15)[np.arange(60) // 4])
    assert_equals_twin(X, groups, group_labels)
    candidates, cosine, coefficient = learned(X, groups, group_labels)
    instances = candidates.instances()
    first, second = instances % 2 == 0, instances % 2 == 1
    np.testing.assert_array_equal(cosine[first], cosine[second])
    assert (coefficient[first] >= coefficient[second]).all()
    assert (coefficient[first] > coefficient[second]).any()


def test_rows_without_features():
    X, groups, group_labels = problem(4)
    dense = X.toarray()
    dense[::2] = 0
    assert_equals_twin(sp.csr_array(dense), groups, group_labels)
    nothing = sp.csr_array(np.zeros((60, 20), np.float32))
    _, cosine, coefficient = learned(nothing, groups, group_labels)
    assert not cosine.any()
    assert not coefficient.any()


def test_a_start_that_cancels_begins_with_a_member_by_the_labels_number():
    x = np.array([0.6, 0.8])
    X = np.array([x, -x, x, -x, x, -x], np.float32)
    groups = sp.csr_array(np.eye(3)[[0, 0, 1, 1, 2, 2]])
    group_labels = sp.csr_array(np.ones((3, 3)))
    for matrix in (X, sp.csr_array(X)):
        assert_equals_twin(matrix, groups, group_labels)
        _, cosine, _ = learned(matrix, groups, group_labels)
        np.testing.assert_allclose(
            cosine.reshape(3, 6), np.outer([1, -1, 1], [1, -1] * 3), atol=1e-6
        )
        assert not learned(matrix, groups, group_labels, n_steps=0)[1].any()


def test_a_gradient_that_cancels_keeps_the_embedding():
    """e starts as [1, 0]; the closest members are [1, 0] and [-1, 0], whose sum is 0."""
    X = np.array([[5, 1], [5, -1], [1, 0], [-1, 0]], np.float32)
    groups = sp.csr_array(np.eye(2)[[0, 0, 0, 1]])
    group_labels = sp.csr_array(np.ones((2, 1)))
    assert_equals_twin(X, groups, group_labels)
    for n_steps in (0, 20):
        _, cosine, _ = learned(X, groups, group_labels, n_steps=n_steps)
        np.testing.assert_allclose(cosine[2:], [1, -1], atol=1e-6)


def test_a_step_that_ends_at_zero_keeps_the_embedding():
    """e starts as [1, 0], and the closest members add up to [-1, 0]: with step 1 they cancel."""
    X = np.array([[5, 1], [5, -1], [1, 0], [-2, 0]], np.float32)
    groups = sp.csr_array(np.eye(2)[[0, 0, 0, 1]])
    group_labels = sp.csr_array(np.ones((2, 1)))
    assert_equals_twin(X, groups, group_labels, step=1.0)
    _, cosine, _ = learned(X, groups, group_labels, step=1.0)
    np.testing.assert_allclose(cosine[2:], [1, -1], atol=1e-6)
