"""Kernels of fusion against their slow twins."""

from __future__ import annotations

import numpy as np
import pytest

from multitudes.fusion.names import LabelNames
from multitudes.kernels.fusion import (
    NO_WORDS,
    OF_LABEL,
    TIES,
    Trees,
    describe_candidates,
    rank_candidates,
    score_by_trees,
    sum_lists,
    table_size,
)
from tests.kernels.twins import fusion as twins

N_LABELS = 30


def random_lists(rng, n, widths, scores=1000):
    """(labels, scores, member): lists side by side, some of them short."""
    parts = []
    for width in widths:
        labels = np.array([rng.permutation(N_LABELS)[:width] for _ in range(n)], np.int32)
        values = -np.sort(-rng.integers(0, scores, (n, width)), axis=1).astype(np.float32)
        gone = np.arange(width) >= rng.integers(0, width + 1, (n, 1))
        labels[gone], values[gone] = -1, -np.inf
        parts.append((labels.reshape(n, width), values.reshape(n, width)))
    member = np.repeat(np.arange(len(widths), dtype=np.int32), widths)
    return np.hstack([p[0] for p in parts]), np.hstack([p[1] for p in parts]), member


def summed(labels, values, member, weights, bin_of, base, top_k):
    keys = np.full(table_size(labels.shape[1]), -1, np.int32)
    out = np.full((len(labels), top_k), 99, np.int32), np.full((len(labels), top_k), 9, np.float32)
    sum_lists(labels, values, member, weights, bin_of, base, keys, np.empty_like(keys), *out)
    assert (keys == -1).all()
    return out


@pytest.mark.parametrize("top_k", [1, 5, 40])
@pytest.mark.parametrize("widths", [(1,), (6, 3), (10, 10, 1)])
@pytest.mark.parametrize("same_rows", [True, False])
def test_sums_equal_their_twin(widths, top_k, same_rows):
    rng = np.random.default_rng(0)
    labels, _, member = random_lists(rng, 25, widths)
    # Few values, so that many sums are equal.
    values = rng.integers(0, 4, (1 if same_rows else 25, sum(widths))).astype(np.float32)
    weights = rng.integers(0, 3, (3, len(widths))).astype(np.float32)
    bin_of = rng.integers(0, 3, N_LABELS).astype(np.uint8)
    base = np.array([0, -1, 0.5], np.float32)
    found, scores = summed(labels, values, member, weights, bin_of, base, top_k)
    expected = twins.sum_lists(labels, values, member, weights, bin_of, base, top_k)
    for i, row in enumerate(expected):
        missing = top_k - len(row)
        assert found[i].tolist() == [label for label, _ in row] + [-1] * missing
        assert scores[i].tolist() == [score for _, score in row] + [-np.inf] * missing


def test_no_rows_and_no_places():
    one = np.ones((1, 1), np.float32)
    zeros = np.zeros(N_LABELS, np.uint8), np.zeros(1, np.float32)
    for shape in ((0, 3), (2, 0)):
        labels, member = np.zeros(shape, np.int32), np.zeros(shape[1], np.int32)
        found, _ = summed(labels, np.zeros(shape, np.float32), member, one, *zeros, 2)
        assert found.tolist() == [[-1, -1]] * shape[0]


def described(labels, scores, widths, counts, words, n_candidates):
    worth = np.concatenate([1 / np.arange(1, width + 1) for width in widths]).astype(np.float32)
    first = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    size, n = table_size(sum(widths)), len(labels)
    longest = int(np.diff(words.text_starts).max(initial=0))
    keys, seen = np.full(size, -1, np.int32), np.zeros(table_size(longest), np.uint32)
    found = np.full((n, n_candidates), 99, np.int32)
    about = np.full((n, n_candidates, OF_LABEL + 4 * len(widths)), 99, np.float32)
    describe_candidates(
        labels, scores, worth, first, counts, words, keys, np.empty_like(keys), seen, found, about
    )
    assert (keys == -1).all()
    assert not seen.any()
    return found, about


def test_descriptions_equal_their_twin():
    rng, widths = np.random.default_rng(1), (6, 4)
    labels, scores, _ = random_lists(rng, 20, widths)
    counts = rng.random(N_LABELS).astype(np.float32)
    found, about = described(labels, scores, widths, counts, NO_WORDS, 10)
    worth = (1 / np.arange(1, 7)).astype(np.float32).tolist()
    for i in range(20):
        cut = [(labels[i, :6], scores[i, :6]), (labels[i, 6:], scores[i, 6:])]
        lists = [[label for label in own.tolist() if label >= 0] for own, _ in cut]
        values = [own.tolist() for _, own in cut]
        there = sorted(set(lists[0] + lists[1]))
        facts = {label: twins.description(label, lists, values, worth) for label in there}
        order = sorted(there, key=lambda label: (-np.float32(facts[label][0]), label))
        assert found[i, : len(there)].tolist() == order[:10]
        assert (found[i, len(there) :] == -1).all()
        for c, label in enumerate(order[:10]):
            total, n_listed, of_members = facts[label]
            best = facts[order[0]][0]
            known = [counts[label], n_listed, total, best - total, c, 0, 0, 0, *of_members]
            np.testing.assert_allclose(about[i, c], known, rtol=1e-6, atol=1e-6)


def test_the_share_of_a_name_that_a_text_has():
    names = ["fish market", "EU", "agricultural policy", "", "fishing fleets"]
    texts = ["Markets of fish in the EU", "", "policies and fleet", "x" * 300]
    words = LabelNames(names)
    labels = np.tile(np.arange(5, dtype=np.int32), (4, 1))
    scores = np.zeros((4, 5), np.float32)
    counts = np.zeros(N_LABELS, np.float32)
    found, about = described(labels, scores, (5,), counts, words.beside(texts), 5)
    uses = {part: sum(part in twins.parts(name) for name in names) for name in names
            for part in twins.parts(name)}  # fmt: skip
    rarity = {part: np.log(6 / (1 + n)) + 1 for part, n in uses.items()}
    for i, text in enumerate(texts):
        for c, label in enumerate(found[i].tolist()):
            own = twins.parts(names[label])
            shared = sum(rarity[part] for part in own & twins.parts(text))
            whole = sum(rarity[part] for part in own)
            assert about[i, c, 5] == pytest.approx(shared / whole if whole else 0, abs=1e-6)
            assert about[i, c, 6] == len(own)
            assert about[i, c, 7] == pytest.approx(np.log1p(len(text)))


def random_trees(rng, n_trees, n_numbers):
    """Complete trees of depth two."""
    feature, left, right = [], [], []
    for tree in range(n_trees):
        first = 7 * tree
        feature += [*rng.integers(0, n_numbers, 3).tolist(), -1, -1, -1, -1]
        left += [first + 1, first + 3, first + 5, 0, 0, 0, 0]
        right += [first + 2, first + 4, first + 6, 0, 0, 0, 0]
    n = 7 * n_trees
    return Trees(
        np.arange(0, n, 7, dtype=np.int32),
        np.array(feature, np.int32),
        rng.integers(0, 3, n).astype(np.float32),
        rng.random(n) < 0.5,
        np.array(left, np.int32),
        np.array(right, np.int32),
        rng.integers(-8, 8, n).astype(np.float32),
    )


def test_tree_sums_and_their_order_equal_their_twins():
    rng = np.random.default_rng(2)
    trees = random_trees(rng, 9, 5)
    found = np.array([[4, 2, 7, -1], [-1, -1, -1, -1], [0, 1, 2, 3]], np.int32)
    about = rng.integers(0, 4, (3, 4, 5)).astype(np.float32)
    about[rng.random(about.shape) < 0.2] = np.nan
    about[..., 2] = rng.integers(0, 2, (3, 4))  # a sum of worth is never missing
    sums = np.empty((3, 4), np.float32)
    score_by_trees(found, about, trees, np.float32(-1), sums)
    labels, scores = np.full((3, 3), 99, np.int32), np.full((3, 3), 9, np.float32)
    rank_candidates(found, sums, labels, scores)
    for i in range(3):
        there = np.flatnonzero(found[i] >= 0)
        expected = {
            int(found[i, c]): -1 + TIES * about[i, c, 2] + twins.tree_sum(trees, about[i, c])
            for c in there
        }
        order = sorted(expected, key=lambda label: (-np.float32(expected[label]), label))[:3]
        assert labels[i].tolist() == order + [-1] * (3 - len(order))
        np.testing.assert_allclose(
            scores[i, : len(order)], [expected[label] for label in order], rtol=1e-6
        )
        assert np.isneginf(scores[i, len(order) :]).all()
