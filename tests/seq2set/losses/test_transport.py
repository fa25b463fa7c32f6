"""The transport distance against the exact one of the POT library, gradient included."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("ot")

import ot
import torch

from multitudes.deep.ops.transport import Iterations, cosine_distances, transport_distances
from multitudes.seq2set.losses import transport_loss
from multitudes.seq2set.losses.config import SetLossConfig

CONVERGED = SetLossConfig(transport_steps=3000)
MANY = Iterations(n_outer=3000)


def random_vectors(n=30, n_steps=6, width=4, d=5, random_state=0):
    generator = torch.Generator().manual_seed(random_state)
    expected = torch.randn(n, n_steps, d, generator=generator, dtype=torch.float64)
    targets = torch.randn(n, width, d, generator=generator, dtype=torch.float64)
    counts = torch.randint(1, width + 1, (n, 1), generator=generator)
    return expected, targets, torch.arange(width) < counts


def exact_distances(expected, targets, has_target):
    """By POT on leaves of this graph: its plan is kept out of the gradient, being optimal."""
    distances = []
    for steps, labels, there in zip(expected, targets, has_target, strict=True):
        cost = 1 - torch.cosine_similarity(steps[:, None], labels[there][None], dim=2)
        plan = torch.from_numpy(ot.emd([], [], cost.detach().numpy()))
        distances.append((plan * cost).sum())
    return torch.stack(distances)


def test_distance_and_gradient_tend_to_the_exact_ones():
    expected, targets, has_target = random_vectors()
    ours, theirs = expected.clone().requires_grad_(), expected.clone().requires_grad_()
    found = transport_distances(ours, targets, has_target, MANY)
    exact = exact_distances(theirs, targets, has_target)
    torch.testing.assert_close(found, exact, atol=1e-3, rtol=0)
    found.sum().backward()
    exact.sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-3, rtol=0)


def test_the_published_number_of_steps_comes_close():
    expected, targets, has_target = random_vectors()
    found = transport_distances(expected, targets, has_target)
    exact = exact_distances(expected, targets, has_target)
    assert ((found - exact).abs() / exact).mean() < 0.01


def test_zero_where_predictions_are_the_targets_in_any_order():
    _, targets, _ = random_vectors()
    everybody = torch.ones(targets.shape[:2], dtype=torch.bool)
    shuffled = targets[:, torch.tensor([2, 0, 3, 1])]
    loss = transport_loss(shuffled, targets, everybody, config=CONVERGED)
    assert loss.item() == pytest.approx(0, abs=1e-6)
    twice = torch.cat([shuffled, 3 * targets], dim=1)  # a cosine does not see lengths
    loss = transport_loss(twice, targets, everybody, config=CONVERGED)
    assert loss.item() == pytest.approx(0, abs=1e-6)


def test_the_mean_is_over_instances_with_targets():
    expected, targets, has_target = random_vectors(4)
    has_target[[1, 2]] = False
    loss = transport_loss(expected, targets, has_target)
    each = transport_distances(expected, targets, has_target)
    assert each[[1, 2]].tolist() == [0, 0]
    assert loss.item() == pytest.approx(each.sum().item() / 2)
    assert transport_loss(expected, targets, torch.zeros_like(has_target)).item() == 0


def test_the_solver_is_the_configured_one():
    expected, targets, has_target = random_vectors(6)
    config = SetLossConfig(transport_beta=2.0, transport_steps=3, transport_inner_steps=2)
    loss = transport_loss(expected, targets, has_target, config=config).item()

    def by(*iterations):
        each = transport_distances(expected, targets, has_target, Iterations(*iterations))
        return each.mean().item()

    assert loss == pytest.approx(by(2.0, 3, 2), abs=1e-12)
    others = [by(1.0, 3, 2), by(2.0, 50, 2), by(2.0, 3, 1), by(2.0, 2, 3)]
    assert all(abs(other - loss) > 1e-4 for other in others)


def test_gradient_by_finite_differences_where_the_plan_is_optimal():
    expected, targets, has_target = random_vectors(2, n_steps=3, width=3, d=3)

    iterations = Iterations(beta=0.1, n_outer=100, n_inner=3)

    def distance(expected):
        return transport_distances(expected, targets, has_target, iterations)

    # The plan moves with the cost, but to first order that changes nothing at the optimum.
    assert torch.autograd.gradcheck(distance, [expected.requires_grad_()], atol=1e-4)


def test_a_vector_of_zeros_is_no_trouble():
    expected, targets, has_target = random_vectors(2)
    expected[0, 0] = 0
    leaf = expected.clone().requires_grad_()
    transport_loss(leaf, targets, has_target).backward()
    assert torch.isfinite(leaf.grad).all()
    assert cosine_distances(expected, targets)[0, 0].tolist() == [1.0] * 4


def test_half_precision_is_computed_in_single():
    expected, targets, has_target = random_vectors()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = transport_loss(expected.bfloat16(), targets.float(), has_target)
    assert loss.dtype == torch.float32
    exact = transport_loss(expected, targets, has_target)
    assert loss.item() == pytest.approx(exact.item(), abs=1e-2)
    assert np.isfinite(loss.item())
