"""Averaged lists, and sizes and cuts of sets, against their slow twins."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multitudes.kernels.scores import average_lists, best_sizes, cut_labels
from tests.kernels.twins import sets, trees

CHANCES = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0.001, 0.999))


def averaged(labels, scores, n_models, n_labels, top_k):
    """(labels, scores) of the kernel; what it leaves in its scratch is checked."""
    place = np.full(n_labels, -1, np.int32)
    out_labels = np.full((len(labels), top_k), 99, np.int32)
    out_scores = np.full((len(labels), top_k), 99, np.float32)
    average_lists(
        np.asarray(labels, np.int32), np.asarray(scores, np.float32), n_models, place,
        out_labels, out_scores,
    )  # fmt: skip
    assert (place == -1).all()
    return out_labels, out_scores


def assert_is_twin(labels, scores, n_models, n_labels, top_k):
    out_labels, out_scores = averaged(labels, scores, n_models, n_labels, top_k)
    expected = trees.average_lists(
        np.asarray(labels, np.int32), np.asarray(scores, np.float32), n_models, top_k
    )
    for i, ranked in enumerate(expected):
        missing = top_k - len(ranked)
        assert out_labels[i].tolist() == [label for _, label in ranked] + [-1] * missing
        assert out_scores[i].tolist() == [score for score, _ in ranked] + [-np.inf] * missing


def random_lists(rng, n, n_models, width, n_labels, scores):
    """Each model lists `width` different labels, some of them missing at the end."""
    labels = np.array([
        [rng.permutation(n_labels)[:width] for _ in range(n_models)] for _ in range(n)
    ], np.int32)  # fmt: skip
    missing = np.arange(width) >= rng.integers(0, width + 1, (n, n_models, 1))
    scores = rng.choice(scores, labels.shape).astype(np.float32)
    labels[missing], scores[missing] = -1, -np.inf
    return labels.reshape(n, -1), scores.reshape(n, -1)


@pytest.mark.parametrize("top_k", [1, 4, 50])
@pytest.mark.parametrize("n_models", [1, 2, 5])
def test_equals_its_twin(n_models, top_k):
    rng = np.random.default_rng(0)
    labels, scores = random_lists(rng, 40, n_models, 6, 20, rng.random(1000))
    assert_is_twin(labels, scores, n_models, 20, top_k)


def test_equals_its_twin_where_many_scores_tie():
    rng = np.random.default_rng(1)
    labels, scores = random_lists(rng, 60, 3, 6, 12, [0.0, 0.25, 0.5])
    assert_is_twin(labels, scores, 3, 12, 5)


def test_ties_go_to_the_smaller_label_id():
    labels, scores = averaged([[7, 3, 5, 1]], [[0.5, 0.5, 0.5, 0.5]], 2, 8, 3)
    assert labels.tolist() == [[1, 3, 5]]
    assert scores.tolist() == [[0.25] * 3]


def test_a_model_that_does_not_list_a_label_gives_it_nothing():
    labels, scores = averaged([[0, 1, 1, -1]], [[0.75, 0.5, 0.5, -np.inf]], 2, 2, 2)
    assert labels.tolist() == [[1, 0]]
    assert scores.tolist() == [[0.5, 0.375]]


def test_nothing_listed_gives_nothing():
    labels, scores = averaged([[-1, -1]], [[-np.inf, -np.inf]], 2, 3, 2)
    assert labels.tolist() == [[-1, -1]]
    assert scores.tolist() == [[-np.inf, -np.inf]]


def test_no_rows():
    labels, _ = averaged(np.zeros((0, 4)), np.zeros((0, 4)), 2, 3, 2)
    assert labels.shape == (0, 2)


def sizes_of(rows, unlisted=(1.0,), empty=0.0):
    """(sizes, values) of the kernel; `unlisted` are probabilities of 0, 1, ... unlisted labels."""
    width = max(map(len, rows), default=0)
    p = np.zeros((len(rows), width))
    for i, row in enumerate(rows):
        p[i, : len(row)] = row
    inverse = np.zeros(2 * width + 1)
    for a in range(1, 2 * width + 1):
        inverse[a] = sum(chance / (a + m) for m, chance in enumerate(unlisted))
    sizes, values = np.full(len(rows), -1), np.full(len(rows), np.nan)
    among, rest = np.full((width + 1, width + 1), np.nan), np.full(2 * width + 1, np.nan)
    best_sizes(p, inverse, empty * unlisted[0], among, rest, sizes, values)
    return sizes.tolist(), values.tolist()


@given(
    st.lists(st.lists(CHANCES, max_size=7), min_size=1, max_size=3),
    st.sampled_from([(1.0,), (0.5, 0.3, 0.2), (0.0, 0.0, 1.0)]),
    st.sampled_from([0.0, 0.4, 1.0]),
)
def test_the_size_is_best_over_all_outcomes(rows, unlisted, empty):
    rows = [sorted(row, reverse=True) for row in rows]
    sizes, values = sizes_of(rows, unlisted, empty)
    for row, size, value in zip(rows, sizes, values, strict=True):
        _, best = sets.best_size(row, list(unlisted), empty)
        assert value == pytest.approx(best, abs=1e-12)
        own = sets.expected_f1(row, size, list(unlisted), empty)
        assert own == pytest.approx(best, abs=1e-12)


@given(st.lists(CHANCES, min_size=1, max_size=5), st.integers(0, 31))
def test_no_other_set_is_better_than_the_likeliest_labels(row, bits):
    row = sorted(row, reverse=True)
    chosen = [j for j in range(len(row)) if bits >> j & 1]
    reordered = [row[j] for j in chosen] + [row[j] for j in range(len(row)) if j not in chosen]
    value = sets.expected_f1(reordered, len(chosen), [1.0], 0.0)
    assert sizes_of([row])[1][0] >= value - 1e-12


def test_known_sizes():
    assert sizes_of([[1.0, 1.0, 0.0], [1.0], [0.9, 0.05], []]) == (
        [2, 1, 1, 0],
        pytest.approx([1, 1, 0.9 * (0.95 + 0.05 * 2 / 3), 0]),
    )


def test_of_equal_sizes_the_smaller_wins():
    (size,), (value,) = sizes_of([[1.0, 1 / 3]])  # 1 label: 2/3 + 1/3 * 2/3; 2: 2/3 * 2/3 + 1/3
    assert value == pytest.approx(8 / 9)
    assert size == 1
    assert sizes_of([[0.5]], empty=1.0)[0] == [0]


def pairs(rng, n, n_labels, n_scores):
    counts = rng.integers(0, min(n, 6) + 1, n_labels)
    starts = np.concatenate([[0], np.cumsum(counts)])
    rows = np.concatenate([rng.permutation(n)[:c] for c in counts]).astype(np.int64)
    scores = np.concatenate([-np.sort(-rng.integers(0, n_scores, c)) for c in counts]) * 0.5
    is_true = rng.random(len(rows)) < 0.5
    n_true = np.bincount(rows[is_true], minlength=n) + rng.integers(0, 2, n)
    return starts, rows, is_true, scores, n_true


@pytest.mark.parametrize("price", [0.0, 0.6, 1.1, -1.0])
@pytest.mark.parametrize("n_scores", [2, 1000])
@pytest.mark.parametrize("seed", range(5))
def test_cuts_are_those_of_the_twin(price, n_scores, seed):
    rng = np.random.default_rng(seed)
    starts, rows, is_true, scores, n_true = pairs(rng, 8, 12, n_scores)
    threshold = np.median(scores)
    first = np.array([(scores[a:b] >= threshold).sum() for a, b in pairwise(starts)])
    place = np.arange(len(rows)) - np.repeat(starts[:-1], np.diff(starts))
    cuts = first.copy()
    taken = place < np.repeat(cuts, np.diff(starts))
    n_taken = np.bincount(rows[taken], minlength=8)
    n_hits = np.bincount(rows[taken & is_true], minlength=8)
    expected = sets.cut_labels(starts, rows, is_true, scores, n_true, price, first, cuts)
    cut_labels(starts, rows, is_true, scores, n_true, price, first, n_taken, n_hits, cuts)
    assert cuts.tolist() == expected.tolist()
    taken = place < np.repeat(cuts, np.diff(starts))
    assert n_taken.tolist() == np.bincount(rows[taken], minlength=8).tolist()
    assert n_hits.tolist() == np.bincount(rows[taken & is_true], minlength=8).tolist()


def test_no_pairs_no_cuts():
    none = np.empty(0, np.int64)
    cuts = np.zeros(3, np.int64)
    cut_labels(
        np.zeros(4, np.int64), none, none.astype(bool), none.astype(np.float64),
        np.ones(2, np.int64), 0.5, cuts, np.zeros(2, np.int64), np.zeros(2, np.int64), cuts.copy(),
    )  # fmt: skip
    assert sizes_of([]) == ([], [])
