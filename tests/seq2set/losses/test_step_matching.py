"""Batched matching through tensors; the kernel itself is held to scipy in tests/kernels."""

import threading

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from scipy.optimize import linear_sum_assignment

from multitudes.deep.ops.matching import INSTANCES_AT_ONCE
from multitudes.errors import ConfigError, DataError
from multitudes.seq2set.losses import step_matching
from multitudes.seq2set.losses.step_matching import Matcher

from . import slow_device


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


def test_probabilities_in_few_bits_are_matched_like_the_same_in_many():
    probabilities, n_targets = random_batch()
    few = probabilities.bfloat16()
    with Matcher() as matcher:
        steps = matcher.start(few, n_targets).steps()
        assert torch.equal(steps, matcher.start(few.double(), n_targets).steps())


@pytest.mark.parametrize("scheme", ["all", "first-n"])
def test_nobody_waits_for_a_device_but_who_asks_for_the_steps(scheme, monkeypatch):
    batches = [random_batch(70, random_state=seed) for seed in range(3)]
    slow_device.lend(monkeypatch)
    with Matcher(scheme, on_host=True) as matcher:
        expected = [matcher.start(*batch).steps() for batch in batches]
        there = [[part.as_subclass(slow_device.OnDevice) for part in batch] for batch in batches]
        pending = [matcher.start(*batch) for batch in there]
        found = [one.steps() for one in pending]
        assert len([t for t in threading.enumerate() if t.name.startswith("matching")]) == 1
    assert not any(thread.name.startswith("matching") for thread in threading.enumerate())
    assert not slow_device.waits
    for steps, wanted in zip(found, expected, strict=True):
        assert isinstance(steps, slow_device.OnDevice)
        assert torch.equal(steps.as_subclass(torch.Tensor), wanted)


@pytest.mark.parametrize("scheme", ["all", "first-n"])
def test_what_a_device_can_match_stays_there(scheme, monkeypatch):
    probabilities, n_targets = random_batch(3)
    answer = torch.zeros(3, 5, dtype=torch.int64)
    asked = []

    def match_on_device(gain, counts, *, first_only):
        asked.append((gain.dtype, counts, first_only))
        return answer

    monkeypatch.setattr(step_matching, "match_on_device", match_on_device)
    monkeypatch.setattr(step_matching, "matches_on_device", lambda device, n_steps: n_steps <= 8)
    with Matcher(scheme) as matcher, Matcher(scheme, on_host=True) as on_host:
        assert matcher.start(probabilities.double(), n_targets).steps() is answer
        assert asked == [(torch.float32, n_targets, scheme == "first-n")]
        longer = torch.cat([probabilities, 0 * probabilities[:, :1]], dim=1)
        for one, batch in ((on_host, probabilities), (matcher, longer)):
            one.start(batch, n_targets).steps()
    assert len(asked) == 1


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
