"""L of the mask: Algorithm 1 over lists of labels, or the user's own."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.data.groups import merge_labels, random_groups
from multitudes.errors import ConfigError, DataError
from multitudes.groups.embeddings import group_label_embeddings
from multitudes.groups.miml.bags import Bags
from multitudes.groups.miml.label_embeddings import check_choice, embeddings_of, possible_counts
from tests.groups.miml.problems import N_LABELS, bagged, one_hot


def bags_of(problem, X=None):
    members = sp.csr_array(problem.groups.T)
    return Bags(problem.X if X is None else X, members, problem.group_labels)


@pytest.mark.parametrize("choice", ["eagle", "eagle-0"])
def test_a_label_listed_twice_counts_as_if_its_group_stood_there_twice(choice):
    X = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    members = sp.csr_array(np.array([[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]], np.float32))
    counts = sp.csr_array(np.array([[2], [1]], np.float32))
    found = embeddings_of(Bags(X, members, counts), choice)
    apart = sp.csr_array(sp.vstack([members, members[:1]]))
    ones = sp.csr_array(np.ones((3, 1), np.float32))
    np.testing.assert_allclose(found, embeddings_of(Bags(X, apart, ones), choice), atol=1e-6)
    once = embeddings_of(Bags(X, members, sp.csr_array(np.ones((2, 1), np.float32))), choice)
    assert np.abs(found - once).max() > 0.01


def test_a_count_beyond_the_size_of_the_group_is_cut():
    members = sp.csr_array(np.ones((1, 2), np.float32))
    counts = sp.csr_array(np.array([[1e6, 1.0]], np.float32))
    bags = Bags(np.eye(2, dtype=np.float32), members, counts)
    assert possible_counts(bags).toarray().tolist() == [[2, 1]]


@pytest.mark.parametrize(("choice", "n_steps"), [("eagle", 20), ("eagle-0", 0)])
def test_set_merged_labels_give_algorithm_1_as_it_is(choice, n_steps):
    problem = bagged(80)
    ones = problem.group_labels.copy()
    ones.data.fill(1)
    expected = group_label_embeddings(problem.X, problem.groups, ones, n_steps=n_steps)
    found = embeddings_of(bags_of(problem._replace(group_labels=ones)), choice)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_without_steps_it_is_the_weighted_sum_of_groups():
    problem = bagged(80)
    sums = problem.group_labels.T @ (problem.groups.T @ problem.X)  # counts times group sums
    expected = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    np.testing.assert_allclose(embeddings_of(bags_of(problem), "eagle-0"), expected, atol=1e-5)


@pytest.mark.parametrize("choice", ["eagle", "eagle-0"])
def test_counts_tell_labels_apart_that_every_group_has(choice):
    """Groups of 50 of 4 labels: as sets all groups are alike."""
    problem = bagged(4000, size=50, noise=0)
    X = problem.X - problem.X.mean(axis=0)
    assert (problem.group_labels.toarray() > 0).all()
    found = embeddings_of(bags_of(problem, X), choice)
    assert (X @ found.T).argmax(axis=1).tolist() == problem.labels.tolist()


def test_sparse_features_give_the_same_embeddings():
    problem = bagged(80)
    found = embeddings_of(bags_of(problem, sp.csr_array(problem.X)), "eagle")
    np.testing.assert_allclose(found, embeddings_of(bags_of(problem), "eagle"), atol=1e-5)


def test_a_label_in_no_group_has_a_zero_row():
    Y = one_hot(np.array([0, 1, 0, 1]))
    groups = random_groups(4, 2, random_state=0)
    X = np.eye(4, dtype=np.float32)
    bags = Bags(X, sp.csr_array(groups.T), merge_labels(Y, groups))
    assert embeddings_of(bags, "eagle").any(axis=1).tolist() == [True, True, False, False]


def test_own_embeddings():
    problem = bagged(8)
    own = np.arange(N_LABELS * 6).reshape(N_LABELS, 6)
    for given in (own, sp.csr_array(own)):
        found = embeddings_of(bags_of(problem), given)
        np.testing.assert_array_equal(found, own)
        assert found.dtype == np.float32
    assert embeddings_of(bags_of(problem), None) is None


def test_own_embeddings_of_another_shape_are_refused():
    with pytest.raises(DataError, match=r"\(n_labels, n_features\) = \(4, 6\), got \(4, 5\)"):
        embeddings_of(bags_of(bagged(8)), np.zeros((4, 5)))


def test_an_unknown_name_is_refused():
    with pytest.raises(ConfigError, match="'eagle', 'eagle-0', None or an array .* got 'eagle-1'"):
        check_choice("eagle-1")
