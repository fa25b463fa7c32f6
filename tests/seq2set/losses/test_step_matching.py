"""Batched matching through tensors; the kernel itself is held to scipy in tests/kernels."""

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from scipy.optimize import linear_sum_assignment

from multitudes.deep.ops.matching import INSTANCES_AT_ONCE
from multitudes.errors import ConfigError, DataError
from multitudes.seq2set.losses.step_matching import Matcher


def random_batch(n=50, n_steps=8, width=5, random_state=0):
    rng = np.random.default_rng(random_state)
    probabilities = torch.from_numpy(rng.random((n, n_steps, width)).astype(np.float32))
    return probabilities, torch.from_numpy(rng.integers(0, width + 1, n))


@pytest.mark.parametrize("scheme", ["all", "first-n"])
def test_each_instance_is_matched_as_by_scipy(scheme):
    probabilities, n_targets = random_batch()
    with Matcher(scheme) as matcher:
        steps = matcher.start(probabilities, n_targets).steps()
    for matrix, n, row in zip(probabilities.numpy(), n_targets.tolist(), steps, strict=True):
        allowed = n if scheme == "first-n" else len(matrix)
        expected, columns = linear_sum_assignment(matrix[:allowed, :n], maximize=True)
        assert row[columns].tolist() == expected.tolist()
        assert row[n:].tolist() == [-1] * (matrix.shape[1] - n)


def test_threads_and_batches_change_nothing():
    probabilities, n_targets = random_batch(3 * INSTANCES_AT_ONCE + 5)
    alone = torch.cat(
        [Matcher(n_jobs=1).start(*pair).steps() for pair in zip(
            probabilities.split(1), n_targets.split(1), strict=True
        )]
    )  # fmt: skip
    with Matcher(n_jobs=3) as matcher:
        assert torch.equal(matcher.start(probabilities, n_targets).steps(), alone)


def test_the_bipartite_example_of_figure_1():
    # Two targets, four steps: the third is surest of the first target.
    probabilities = torch.tensor([[[0.2, 0.1], [0.1, 0.3], [0.9, 0.0], [0.0, 0.2]]])
    two = torch.tensor([2])
    assert Matcher("all").start(probabilities, two).steps().tolist() == [[2, 1]]
    assert Matcher("first-n").start(probabilities, two).steps().tolist() == [[0, 1]]


def test_no_gradient_flows_and_none_is_kept():
    probabilities, n_targets = random_batch(3)
    steps = Matcher().start(probabilities.requires_grad_(), n_targets).steps()
    assert steps.dtype == torch.int64
    assert not steps.requires_grad


@pytest.mark.parametrize(("n", "width"), [(0, 3), (2, 0)])
def test_empty_batches(n, width):
    pending = Matcher().start(torch.zeros(n, 4, width), torch.zeros(n, dtype=torch.int64))
    assert pending.steps().shape == (n, width)


def test_more_targets_than_steps_and_open_schemes_are_refused():
    with pytest.raises(DataError, match="up to 5 targets cannot be matched to 4 steps"):
        Matcher().start(torch.zeros(1, 4, 5), torch.tensor([5]))
    with pytest.raises(ConfigError, match="'auto'"):
        Matcher("auto")


@pytest.mark.gpu
@pytest.mark.parametrize("scheme", ["all", "first-n"])
@pytest.mark.parametrize("on_host", [False, True])
def test_a_device_gets_the_same_steps(scheme, on_host):
    probabilities, n_targets = random_batch(200)
    with Matcher(scheme, on_host=on_host) as matcher:
        here = matcher.start(probabilities, n_targets).steps()
        there = matcher.start(probabilities.cuda(), n_targets.cuda()).steps()
    assert there.is_cuda
    assert torch.equal(here, there.cpu())
