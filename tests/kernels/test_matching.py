"""The matching kernel against every permutation, and against scipy on thousands of matrices."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from multitudes.kernels.matching import match_targets
from tests.kernels.twins.networks import best_total


def matched(gain, n_targets, first_only):
    steps = np.full(gain.shape[:2], -7, np.int64)
    match_targets(gain, np.asarray(n_targets, np.int64), first_only, steps)
    return steps


def random_gain(rng, shape, kind):
    if kind == "tied":
        return rng.integers(0, 3, shape).astype(np.float32)
    if kind == "all equal":
        return np.full(shape, 0.25, np.float32)
    if kind == "peaked":  # a trained model's probabilities span many magnitudes
        return np.exp(-rng.exponential(20, shape)).astype(np.float32)
    if kind == "zero":
        return np.where(rng.random(shape) < 0.8, 0, rng.random(shape)).astype(np.float32)
    return rng.random(shape).astype(np.float32)


KINDS = ["random", "tied", "all equal", "peaked", "zero"]


def check_is_a_matching(steps, n_targets, n_allowed):
    for row, n, allowed in zip(steps, n_targets, n_allowed, strict=True):
        assert (row[n:] == -1).all()
        assert len(set(row[:n])) == n
        assert ((row[:n] >= 0) & (row[:n] < allowed)).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first_only", [False, True])
def test_no_permutation_is_better(kind, first_only):
    rng = np.random.default_rng(0)
    gain = random_gain(rng, (60, 4, 6), kind)
    n_targets = rng.integers(0, 5, 60)
    n_allowed = n_targets if first_only else np.full(60, 6)
    steps = matched(gain, n_targets, first_only)
    check_is_a_matching(steps, n_targets, n_allowed)
    for block, row, n, allowed in zip(gain, steps, n_targets, n_allowed, strict=True):
        total = block[np.arange(n), row[:n]].sum(dtype=np.float64)
        assert total == pytest.approx(best_total(block[:n], allowed), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_rows", "n_steps"), [(1, 1), (1, 9), (7, 7), (12, 30), (26, 26)])
def test_scipy_finds_the_same_total(kind, n_rows, n_steps):
    rng = np.random.default_rng(n_rows * n_steps)
    gain = random_gain(rng, (250, n_rows, n_steps), kind)
    n_targets = rng.integers(0, n_rows + 1, 250)
    n_targets[:2] = 0, n_rows
    for first_only in (False, True):
        n_allowed = n_targets if first_only else np.full(250, n_steps)
        steps = matched(gain, n_targets, first_only)
        check_is_a_matching(steps, n_targets, n_allowed)
        for block, row, n, allowed in zip(gain, steps, n_targets, n_allowed, strict=True):
            part = block[:n, :allowed].astype(np.float64)
            rows, columns = linear_sum_assignment(part, maximize=True)
            ours = part[np.arange(n), row[:n]].sum()
            assert ours == pytest.approx(part[rows, columns].sum(), abs=1e-12 * n_rows)


def test_ties_go_to_the_smaller_step():
    steps = matched(np.full((1, 3, 5), 0.5, np.float32), [3], False)
    assert sorted(steps[0]) == [0, 1, 2]
    assert matched(np.float32([[[0.1, 0.7, 0.7]]]), [1], False).tolist() == [[1]]


def test_an_empty_batch_and_instances_without_targets():
    assert matched(np.zeros((0, 3, 5), np.float32), [], False).shape == (0, 3)
    assert matched(np.zeros((2, 0, 5), np.float32), [0, 0], False).shape == (2, 0)
    assert matched(np.ones((1, 3, 5), np.float32), [0], True).tolist() == [[-1, -1, -1]]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_gains_that_are_no_numbers_still_give_a_matching(bad):
    gain = np.random.default_rng(0).random((40, 5, 7)).astype(np.float32)
    gain[np.random.default_rng(1).random(gain.shape) < 0.3] = bad
    n_targets = np.arange(40) % 6
    steps = matched(gain, n_targets, False)
    check_is_a_matching(steps, n_targets, np.full(40, 7))
