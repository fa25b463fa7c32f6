import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given
from hypothesis import strategies as st

from multitudes.encoder.losses.config import LossConfig
from multitudes.encoder.losses.triplet import fixed_hinge, triplet_loss

from .batches import FLAT, batches, gradient, random_batch

PLAIN = LossConfig(margin="fixed", fixed_margin=0.3, **FLAT)


@pytest.mark.parametrize(
    ("positive", "negative", "expected"),
    [
        (0.2, 0.5, (-1.0, 1.0)),  # the negative is ahead
        (0.5, 0.3, (-1.0, 1.0)),  # the positive is, by less than the margin
        (0.8, 0.3, (0.0, 0.0)),  # by more
    ],
)
def test_partial_derivatives_of_eq_9(positive, negative, expected):
    s_p = torch.tensor(positive, dtype=torch.float64, requires_grad=True)
    s_n = torch.tensor(negative, dtype=torch.float64, requires_grad=True)
    fixed_hinge(s_p, s_n, PLAIN).backward()
    assert (s_p.grad.item(), s_n.grad.item()) == expected


def test_eq_1_by_loops():
    similarity, positives, known = random_batch(3)
    rows = []
    for row in range(len(similarity)):
        drawn = [column for column in positives[row].tolist() if column >= 0]
        others = [column for column in range(similarity.shape[1]) if not known[row, column]]
        s = similarity[row].tolist()
        sums = [sum(max(s[n] - s[p] + 0.3, 0) for n in others) for p in drawn]
        rows += [sum(sums) / len(sums)] if sums and others else []
    loss = triplet_loss(similarity, positives, known, config=PLAIN)
    assert loss.item() == pytest.approx(sum(rows) / len(rows))


def test_only_the_hardest_negatives_count():
    similarity = torch.tensor([[0.5, 0.4, 0.9, 0.45, 0.6]])
    positives, known = torch.tensor([[0]]), torch.tensor([[True, False, True, False, False]])
    config = LossConfig(margin="fixed", fixed_margin=0.3, n_negatives=2, **FLAT)
    loss = triplet_loss(similarity, positives, known, config=config)
    assert loss.item() == pytest.approx((0.45 - 0.5 + 0.3) + (0.6 - 0.5 + 0.3))


@pytest.mark.parametrize("config", [PLAIN, LossConfig(margin="fixed")])
def test_gradient_is_that_of_finite_differences(config):
    similarity, positives, known = random_batch(1)
    similarity.requires_grad_()
    assert torch.autograd.gradcheck(
        lambda s: triplet_loss(s, positives, known, config=config), (similarity,)
    )


@given(batches, st.sampled_from([PLAIN, LossConfig(margin="fixed")]))
def test_a_known_positive_is_never_pushed_away(batch, config):
    similarity, positives, known = batch
    pushed = gradient(lambda s: triplet_loss(s, positives, known, config=config), similarity)
    assert torch.isfinite(pushed).all()
    assert (pushed[known] <= 0).all()


@given(batches)
def test_a_negative_is_never_pulled_in(batch):
    similarity, positives, known = batch
    for config in (PLAIN, LossConfig(margin="fixed", detach_weights=True)):
        pushed = gradient(
            lambda s, c=config: triplet_loss(s, positives, known, config=c), similarity
        )
        assert (pushed[~known] >= 0).all()


@given(batches, st.randoms(use_true_random=False))
def test_the_order_of_columns_does_not_matter(batch, random):
    similarity, positives, known = batch
    order = list(range(similarity.shape[1]))
    random.shuffle(order)
    place = torch.tensor(order).argsort()
    moved = torch.where(positives >= 0, place[positives.clamp(min=0)], -1)
    before = triplet_loss(similarity, positives, known)
    after = triplet_loss(similarity[:, order], moved, known[:, order])
    assert after.item() == pytest.approx(before.item(), abs=1e-12)
