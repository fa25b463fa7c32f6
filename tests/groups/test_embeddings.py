"""Label embeddings from groups: known answers, and what the paper proves about them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st

from multitudes.errors import ConfigError, DataError
from multitudes.groups import candidates, group_label_embeddings
from multitudes.groups.candidates import checked_candidates
from multitudes.groups.embeddings import automatic_steps, checked_instances, instance_rows
from multitudes.groups.making import clustered_groups, random_groups
from multitudes.labels import pifa
from tests.groups.problems import words_of_labels


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)


# --- Figure 1


@pytest.mark.parametrize("as_sparse", [True, False])
def test_the_toy_example_of_figure_1(as_sparse):
    """Members cancel in every group; the naive embeddings are 0, EAGLE's are x and -x."""
    x = unit(np.array([3.0, -1.0, 2.0]))
    X = np.kron(np.ones((3, 1)), np.array([x, -x])).astype(np.float32)
    groups = sp.csr_array(np.kron(np.eye(3), np.ones((2, 1))))
    group_labels = sp.csr_array(np.ones((3, 2)))
    given_x = sp.csr_array(X) if as_sparse else X
    naive = group_label_embeddings(given_x, groups, group_labels, n_steps=0)
    learned = group_label_embeddings(given_x, groups, group_labels)
    naive, learned = (e.toarray() if as_sparse else e for e in (naive, learned))
    assert not naive.any()
    np.testing.assert_allclose(learned, [x, -x], atol=1e-6)


# --- groups of one


@pytest.mark.parametrize("n_steps", [0, 1, 20])
def test_groups_of_one_give_the_sum_of_positives(n_steps):
    X, Y, _, _ = words_of_labels()
    alone = sp.csr_array(np.eye(X.shape[0], dtype=np.float32))
    learned = group_label_embeddings(X, alone, Y, n_steps=n_steps)
    np.testing.assert_allclose(learned.toarray(), unit((Y.T @ X).toarray()), atol=1e-5)


def test_groups_of_one_are_pifa_where_instances_have_equally_many_labels():
    X, Y, _, _ = words_of_labels()
    rows = np.flatnonzero(np.diff(Y.indptr) == 2)
    alone = sp.csr_array(np.eye(len(rows), dtype=np.float32))
    learned = group_label_embeddings(X[rows], alone, Y[rows])
    np.testing.assert_allclose(learned.toarray(), pifa(X[rows], Y[rows]).toarray(), atol=1e-5)


# --- Theorem 4


@given(
    random_state=st.integers(0, 2**32 - 1),
    n_groups=st.integers(1, 12),
    size=st.integers(1, 6),
    noise=st.floats(0.0, 0.8),
    t=st.integers(0, 3),
)
def test_one_step_of_theorem_4(random_state, n_groups, size, noise, t):
    """<e*, e'> >= alpha + (1 - alpha) (<e*, e> - |e* - e|) - f.

    The proof takes the whole step, e' = Proj(sum of the closest): a step so long that e is
    forgotten. It divides by a length that is at most the number of groups, which is allowed where
    the bound is positive.
    """
    rng = np.random.default_rng(random_state)
    truth = unit(rng.standard_normal(5))
    X = unit(rng.standard_normal((n_groups, size, 5)))
    X[:, 0] = unit(truth + noise * unit(rng.standard_normal((n_groups, 5))))
    f = np.linalg.norm(X[:, 0] - truth, axis=1).max()  # over all sets, single ones included
    groups = sp.csr_array(np.kron(np.eye(n_groups), np.ones((size, 1))))
    data = X.reshape(-1, 5).astype(np.float32), groups, sp.csr_array(np.ones((n_groups, 1)))
    e, after = (
        group_label_embeddings(*data, n_steps=steps, step=1e7)[0].astype(np.float64)
        for steps in (t, t + 1)
    )
    alpha = np.mean((X @ e).argmax(axis=1) == 0)
    bound = alpha + (1 - alpha) * (truth @ e - np.linalg.norm(truth - e)) - f
    assume(bound > 0)
    assert truth @ after >= bound - 1e-4


# --- in general


def test_the_embedding_is_close_to_one_instance_of_each_group():
    X, Y, groups, group_labels = words_of_labels(noise=1)
    learned = group_label_embeddings(X, groups, group_labels).toarray()
    naive = group_label_embeddings(X, groups, group_labels, n_steps=0).toarray()
    truth = unit((Y.T @ X).toarray())
    assert ((learned * truth).sum(axis=1) > (naive * truth).sum(axis=1)).all()


def exact_optimum(X, size):
    """The most that Eq. 2 can reach, over all choices of one instance from each group.

    For a given choice the best unit vector is the direction of its sum, so the value is its length.
    """
    sums = np.zeros((1, X.shape[1]))
    for members in X.reshape(-1, size, X.shape[1]):
        sums = (sums[:, None, :] + members[None, :, :]).reshape(-1, X.shape[1])
    return np.linalg.norm(sums, axis=1).max()


def reached(X, size, n_steps):
    """The value of Eq. 2 for the embedding of a label that all groups of `size` have."""
    n_groups = len(X) // size
    groups = sp.csr_array(np.kron(np.eye(n_groups), np.ones((size, 1))))
    labels = sp.csr_array(np.ones((n_groups, 1)))
    (e,) = group_label_embeddings(X, groups, labels, n_steps=n_steps)
    return (X @ e).reshape(n_groups, size).max(axis=1).sum()


def test_steps_come_near_the_optimum_of_equation_2_and_never_pass_it():
    """Random instances, which no label explains: the hardest case. More steps come nearer."""
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(40):
        n_groups, size, dim = rng.integers(2, 6), rng.integers(2, 5), rng.integers(2, 8)
        X = unit(rng.standard_normal((n_groups * size, dim))).astype(np.float32)
        best = exact_optimum(X.astype(np.float64), size)
        shares.append([reached(X, size, n_steps) / best for n_steps in (0, 20, 200)])
    start, papers, long = np.array(shares).T
    assert max(start.max(), papers.max(), long.max()) <= 1 + 1e-5
    assert start.mean() < papers.mean() < long.mean()
    assert papers.mean() > 0.9
    assert (long > 1 - 1e-3).mean() > (papers > 1 - 1e-3).mean()


def test_rows_have_length_one_or_zero():
    X, _, groups, group_labels = words_of_labels()
    group_labels = sp.csr_array(sp.hstack([group_labels, sp.csr_array((60, 2))]))
    learned = group_label_embeddings(X, groups, group_labels)
    assert (learned.dtype, learned.shape) == (np.float32, (22, X.shape[1]))
    assert learned.has_sorted_indices
    lengths = np.linalg.norm(learned.toarray(), axis=1)
    np.testing.assert_allclose(lengths, [1] * 20 + [0] * 2, atol=1e-5)


def test_sparse_and_dense_are_alike():
    X, _, groups, group_labels = words_of_labels()
    dense = group_label_embeddings(X.toarray(), groups, group_labels)
    assert isinstance(dense, np.ndarray)
    sparse = group_label_embeddings(sp.csr_matrix(X), groups, group_labels)
    np.testing.assert_allclose(sparse.toarray(), dense, atol=1e-5)


def test_the_order_of_groups_does_not_matter():
    X, _, groups, group_labels = words_of_labels()
    order = np.random.default_rng(0).permutation(60)
    one = group_label_embeddings(X, groups, group_labels)
    other = group_label_embeddings(X, groups[:, order], group_labels[order])
    np.testing.assert_allclose(one.toarray(), other.toarray(), atol=1e-5)


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(candidates, "BLOCK", 50)
    X, _, groups, group_labels = words_of_labels()
    one, two = (group_label_embeddings(X, groups, group_labels, n_jobs=n).toarray() for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("n_steps", [0, 20])
def test_a_label_listed_twice_is_a_group_listed_twice(n_steps):
    X, _, groups, group_labels = words_of_labels()
    group_labels.data = np.minimum(group_labels.data, 2)
    listed_twice = np.flatnonzero(group_labels.toarray().max(axis=1) == 2)
    assert len(listed_twice) > 10
    again = sp.csr_array((group_labels[listed_twice] == 2).astype(np.float32))
    once = group_labels.copy()
    once.data = np.minimum(once.data, 1)
    more = sp.csr_array(sp.hstack([groups, groups[:, listed_twice]]))
    one = group_label_embeddings(X, groups, group_labels, n_steps=n_steps)
    other = group_label_embeddings(X, more, sp.csr_array(sp.vstack([once, again])), n_steps=n_steps)
    np.testing.assert_allclose(one.toarray(), other.toarray(), atol=1e-5)


def test_counts_tell_labels_of_the_same_groups_apart():
    """Every group lists both labels; only how often says which of its members has which."""
    rng = np.random.default_rng(0)
    carried = rng.integers(0, 2, (200, 5))
    X = unit(np.eye(2)[carried.ravel()] + 0.1 * rng.standard_normal((1000, 2)))
    groups = sp.csr_array(np.kron(np.eye(200), np.ones((5, 1))))
    counts = np.stack([(carried == label).sum(axis=1) for label in (0, 1)], axis=1)
    both = (counts > 0).all(axis=1)
    kept = sp.csr_array(counts * both[:, None])
    learned = group_label_embeddings(X.astype(np.float32), groups, kept)
    assert learned[0, 0] > 0.9
    assert learned[1, 1] > 0.9
    blind = group_label_embeddings(X.astype(np.float32), groups, (kept > 0).astype(np.float32))
    np.testing.assert_array_equal(blind[0], blind[1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_steps": -1}, "n_steps .* must be a whole number >= 0, got -1"),
        ({"n_steps": "many"}, "n_steps .* got 'many'"),
        ({"step": 0}, "step must be a number > 0, got 0"),
        ({"step": np.nan}, "step must be a number > 0, got nan"),
        ({"step": "long"}, "step must be a number > 0, got 'long'"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    X, _, groups, group_labels = words_of_labels(n=8)
    with pytest.raises(ConfigError, match=message):
        group_label_embeddings(X, groups, group_labels, **settings)


@pytest.mark.parametrize("as_sparse", [True, False])
def test_nan_features_are_refused(as_sparse):
    X = np.ones((2, 3), np.float32)
    X[1, 2] = np.nan
    one = sp.csr_array(np.ones((2, 1)))
    with pytest.raises(DataError, match="X has the value nan at row 1, feature 2"):
        group_label_embeddings(sp.csr_array(X) if as_sparse else X, one, sp.csr_array([[1.0]]))


def test_texts_are_refused():
    one = sp.csr_array(np.ones((1, 1)))
    with pytest.raises(DataError, match="X must be"):
        group_label_embeddings(["a text"], one, one)


# --- contrast


def test_contrast_points_away_from_groups_without_the_label():
    """The mean of the label's places minus the mean of all others is the start's direction."""
    X, _, groups, group_labels = words_of_labels()
    found = checked_candidates(groups, group_labels)
    x = instance_rows(checked_instances(X), found, contrast=True)
    dense = X.toarray().astype(np.float64)
    mean = dense.mean(axis=0)
    np.testing.assert_allclose(x.lengths, np.linalg.norm(dense - mean, axis=1), atol=1e-5)
    np.testing.assert_allclose(x.shift, dense @ mean, atol=1e-5)
    has_label = (groups @ group_labels).toarray()[:, 0] > 0
    away = dense[has_label].mean(axis=0) - dense[~has_label].mean(axis=0)
    start = (dense - mean)[has_label].sum(axis=0)
    np.testing.assert_allclose(unit(away), unit(start), atol=1e-9)


def test_instances_count_in_the_mean_as_often_as_they_are_in_groups():
    X = np.array([[1, 0], [0, 1], [5, 5]], np.float32)
    groups = sp.csr_array(np.array([[1, 1, 1], [1, 0, 0], [0, 0, 0]]))
    found = checked_candidates(groups, sp.csr_array(np.ones((3, 1))))
    x = instance_rows(X, found, contrast=True)
    np.testing.assert_allclose(x.shift, X @ [0.75, 0.25])
    assert x.shift_square == pytest.approx(0.75**2 + 0.25**2)


# --- automatic steps


def steps(X, groups):
    labels = sp.csr_array(np.ones((groups.shape[1], 1)))
    return automatic_steps(X, groups, checked_candidates(groups, labels))


def test_automatic_steps_follow_the_spread_within_groups():
    X, _, _, _ = words_of_labels(n=400)
    assert steps(X, random_groups(400, 4, random_state=0)) <= 2
    assert steps(X, clustered_groups(X, 6, random_state=0)) == 20


def test_no_automatic_steps_where_there_is_nothing_to_choose():
    X, _, _, _ = words_of_labels(n=8)
    assert steps(X, random_groups(8, 1)) == 0
    assert steps(X, random_groups(8, 8)) == 0
    same = np.ones((8, 3), np.float32)
    assert steps(same, random_groups(8, 4)) == 0


def test_twenty_steps_of_a_tenth_unless_told_otherwise():
    data = words_of_labels()
    X, groups, group_labels = data[0], *data[2:]
    learned, same, shorter, longer = (
        group_label_embeddings(X, groups, group_labels, **steps).toarray()
        for steps in ({}, {"n_steps": 20, "step": 0.1}, {"n_steps": 19}, {"step": 0.2})
    )
    np.testing.assert_array_equal(learned, same)
    assert (learned != shorter).any()
    assert (learned != longer).any()
