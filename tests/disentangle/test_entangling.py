"""Labels fused on purpose."""

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.disentangle import entangle
from multitudes.errors import ConfigError, DataError

from .problems import sparse

MODES = ("easy", "medium", "hard")


def topics(n_topics, size, random_state=0):
    """Embeddings of labels in tight, far-apart topics, in random order; and their topics."""
    rng = np.random.default_rng(random_state)
    topic = rng.permutation(np.repeat(np.arange(n_topics), size))
    centers = np.linalg.qr(rng.standard_normal((n_topics, n_topics)))[0]
    return centers[topic] + 0.01 * rng.standard_normal((len(topic), n_topics)), topic


def random_labels(n, n_labels, random_state=0):
    return sparse(np.random.default_rng(random_state).random((n, n_labels)) < 0.05)


def within_topic(result, topic):
    """The part of fused labels whose labels are all of one topic."""
    return np.mean([len(set(topic[result.members(fused)])) == 1 for fused in range(result.n_fused)])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("k", [1, 2, 4, 7])
@pytest.mark.parametrize("n_labels", [7, 64, 301])
def test_every_k_labels_become_one(mode, k, n_labels):
    embeddings = np.random.default_rng(1).standard_normal((n_labels, 8)).astype(np.float32)
    Y = random_labels(50, n_labels)
    result = entangle(Y, embeddings, k, mode)
    n_fused = -(-n_labels // k)
    assert result.Y.shape == (50, n_fused)
    sizes = np.bincount(result.fused_of_label, minlength=n_fused)
    assert sizes.sum() == n_labels
    assert sizes.min() >= 1
    assert sizes.max() <= k + (mode == "medium")


@pytest.mark.parametrize("mode", MODES)
def test_an_instance_has_a_fused_label_where_it_has_one_of_its_labels(mode):
    embeddings, _ = topics(10, 8)
    Y = random_labels(60, 80)
    result = entangle(Y, embeddings, 4, mode)
    expected = np.zeros((60, 20))
    for instance, label in zip(*Y.nonzero(), strict=True):
        expected[instance, result.fused_of_label[label]] = 1
    np.testing.assert_array_equal(result.Y.toarray(), expected)
    assert result.Y.has_canonical_format
    assert result.Y.dtype == np.float32


def test_easy_fuses_similar_labels_and_hard_any():
    embeddings, topic = topics(16, 8)
    Y = random_labels(10, 128)
    assert within_topic(entangle(Y, embeddings, 4, "easy"), topic) == 1
    assert within_topic(entangle(Y, embeddings, 4, "hard"), topic) == 0


def test_medium_stays_within_a_group_of_similar_labels_and_is_random_there():
    embeddings, topic = topics(8, 64)  # groups of 32 k = 64 labels are the topics
    result = entangle(random_labels(10, 512), embeddings, 2, "medium")
    assert within_topic(result, topic) == 1
    similar = entangle(random_labels(10, 512), embeddings, 2, "easy")
    assert np.any(result.fused_of_label != similar.fused_of_label)


def test_fused_labels_are_numbered_by_their_smallest_label():
    result = entangle(random_labels(10, 60), None, 3, "hard")
    smallest = [result.members(fused)[0] for fused in range(result.n_fused)]
    assert smallest == sorted(smallest)
    with pytest.raises(DataError, match="from 0 to 19, got 20"):
        result.members(20)


def test_one_label_each_changes_nothing():
    Y = random_labels(10, 30)
    result = entangle(Y, None, 1, "hard")
    np.testing.assert_array_equal(result.fused_of_label, np.arange(30))
    assert (result.Y != Y).nnz == 0


@pytest.mark.parametrize("mode", MODES)
def test_the_seed_decides_and_threads_do_not(mode):
    embeddings = np.random.default_rng(1).standard_normal((200, 8)).astype(np.float32)
    Y = random_labels(10, 200)
    first, again, other = (
        entangle(Y, embeddings, 4, mode, random_state=random_state, n_jobs=threads).fused_of_label
        for random_state, threads in ((3, 1), (3, 2), (4, 1))
    )
    np.testing.assert_array_equal(first, again)
    assert np.any(first != other)


def test_sparse_embeddings_work_and_input_is_left_as_it_was():
    Y = random_labels(40, 64)
    before = Y.copy()
    result = entangle(sp.csr_matrix(Y), sp.csr_array(Y.T), 2, "easy")
    assert result.n_fused == 32
    assert (before != Y).nnz == 0


def test_bad_input_is_refused():
    Y = random_labels(10, 30)
    with pytest.raises(ConfigError, match="unknown mode 'esay': did you mean 'easy'"):
        entangle(Y, None, 2, "esay")
    with pytest.raises(ConfigError, match="k must be a whole number >= 1, got 0"):
        entangle(Y, None, 0, "hard")
    with pytest.raises(ConfigError, match=r"at most the number of labels \(30\), got 31"):
        entangle(Y, None, 31, "hard")
    with pytest.raises(DataError, match="30 rows.*got NoneType: only mode 'hard'"):
        entangle(Y, None, 2, "easy")
    with pytest.raises(DataError, match=r"30 rows.*got shape \(29, 4\)"):
        entangle(Y, np.ones((29, 4), np.float32), 2, "medium")


def test_labels_are_fused_by_seed_0_unless_told_otherwise():
    Y = random_labels(50, 64)
    default, first, second = (
        entangle(Y, None, 4, "hard", **seed).fused_of_label
        for seed in ({}, {"random_state": 0}, {"random_state": 1})
    )
    np.testing.assert_array_equal(default, first)
    assert (first != second).any()
