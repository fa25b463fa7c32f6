import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given
from hypothesis import strategies as st

from multitudes.encoder.losses.config import LossConfig
from multitudes.encoder.losses.dynamic_margin import (
    dynamic_hinge,
    dynamic_margin_loss,
    literal_hinge,
)
from multitudes.encoder.losses.triplet import triplet_loss

from .batches import FLAT, batches, gradient, random_batch

CLIPPED = LossConfig(gamma_min=0.1, gamma_max=0.3)
UNCLIPPED = LossConfig(gamma_min=0.0, gamma_max=2.0)
AHEAD = (0.8, 0.1), (0.8, 0.6), (0.8, 0.69)  # the positive, by more than gamma_max, gamma_min
UNCERTAIN = (0.8, 0.71), (0.8, 0.75), (0.8, 0.799)  # the positive, by less than gamma_min
BEHIND = (0.5, 0.5), (0.5, 0.55), (0.5, 0.7), (0.1, 0.8)  # the negative, by any amount


def partials(hinge, config, positive, negative):
    """(value, derivative by s_p, derivative by s_n)."""
    s_p = torch.tensor(positive, dtype=torch.float64, requires_grad=True)
    s_n = torch.tensor(negative, dtype=torch.float64, requires_grad=True)
    value = hinge(s_p, s_n, config)
    value.backward()
    return value.item(), s_p.grad.item(), s_n.grad.item()


@pytest.mark.parametrize(("positive", "negative"), AHEAD + UNCERTAIN)
def test_eq_11_leaves_positives_alone_that_are_ahead(positive, negative):
    assert partials(dynamic_hinge, UNCLIPPED, positive, negative) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(("positive", "negative"), BEHIND[1:])
def test_eq_11_counts_the_lead_of_a_negative_twice_and_its_gradient_once(positive, negative):
    value, by_positive, by_negative = partials(dynamic_hinge, UNCLIPPED, positive, negative)
    assert value == pytest.approx(2 * (negative - positive))
    assert (by_positive, by_negative) == (-1.0, 1.0)


@pytest.mark.parametrize("hinge", [dynamic_hinge, literal_hinge])
@pytest.mark.parametrize(("positive", "negative"), AHEAD)
def test_eq_14_easy_triplets_have_no_gradient(hinge, positive, negative):
    assert partials(hinge, CLIPPED, positive, negative) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("hinge", [dynamic_hinge, literal_hinge])
@pytest.mark.parametrize(("positive", "negative"), BEHIND)
def test_eq_14_hard_triplets_have_the_gradient_of_the_triplet_loss(hinge, positive, negative):
    value, by_positive, by_negative = partials(hinge, CLIPPED, positive, negative)
    lead = negative - positive
    assert value == pytest.approx(lead + min(max(lead, 0.1), 0.3))
    assert (by_positive, by_negative) == (-1.0, 1.0)


@pytest.mark.parametrize(("positive", "negative"), UNCERTAIN)
def test_the_first_line_of_eq_13_pulls_an_uncertain_positive_in(positive, negative):
    value, by_positive, by_negative = partials(dynamic_hinge, CLIPPED, positive, negative)
    assert value == pytest.approx(negative - positive + 0.1)
    assert (by_positive, by_negative) == (-1.0, 1.0)


@pytest.mark.parametrize(("positive", "negative"), UNCERTAIN)
def test_eq_3_as_printed_inverts_the_gradient_of_an_uncertain_triplet(positive, negative):
    value, by_positive, by_negative = partials(literal_hinge, CLIPPED, positive, negative)
    assert value == pytest.approx(positive - negative + 0.1)
    assert (by_positive, by_negative) == (1.0, -1.0)


def test_eq_3_as_printed_leaves_alone_what_is_ahead_by_exactly_gamma_min():
    config = LossConfig(gamma_min=0.25, gamma_max=0.5)
    assert partials(literal_hinge, config, 0.75, 0.5) == (0.0, 0.0, 0.0)
    assert partials(literal_hinge, config, 0.5, 0.5)[0] == 0.25  # as far as one that is behind


def test_descending_eq_3_as_printed_loses_a_lead_that_the_default_widens():
    positives, known = torch.tensor([[0]]), torch.tensor([[True, False]])
    leads = {}
    for margin in ("dynamic", "literal"):
        similarity = torch.tensor([[0.55, 0.5]])
        for _ in range(50):
            similarity -= 0.01 * gradient(
                lambda s, m=margin: dynamic_margin_loss(
                    s, positives, known, config=LossConfig(margin=m, **FLAT)
                ),
                similarity,
            )
        leads[margin] = (similarity[0, 0] - similarity[0, 1]).item()
    assert leads["dynamic"] >= 0.1
    assert leads["literal"] < 0.05


@pytest.mark.parametrize("detach", [False, True])
def test_gradient_with_softmax_weights_in_closed_form(detach):
    """w_n for the hinge, and w_n (loss_n - weighted sum) / temperature through the weights."""
    s_p, s_n = 0.5, torch.tensor([0.7, 0.45, 0.3, 0.9], dtype=torch.float64)
    similarity = torch.cat([torch.tensor([s_p], dtype=torch.float64), s_n])[None]
    positives, known = torch.tensor([[0]]), torch.tensor([[True] + [False] * 4])
    config = LossConfig(detach_weights=detach)
    losses = torch.tensor([0.4, 0.05, 0.0, 0.7], dtype=torch.float64)
    weights = torch.tensor([7.0, 4.5, -1e4, 9.0], dtype=torch.float64).softmax(0)
    total = (weights * losses).sum()
    through_weights = 0.0 if detach else weights * (losses - total) / 0.1
    expected = torch.cat([-weights.sum()[None], weights + through_weights])

    def loss(s):
        return dynamic_margin_loss(s, positives, known, config=config)

    assert loss(similarity).item() == pytest.approx(total.item())
    assert torch.allclose(gradient(loss, similarity)[0], expected)


@pytest.mark.parametrize("weights", [{"detach_weights": True}, FLAT])
@given(batch=batches, gamma_max=st.sampled_from([0.1, 0.3, 2.0]))
def test_without_a_gradient_through_the_weights_it_is_a_fixed_margin_of_gamma_min(
    weights, batch, gamma_max
):
    dynamic = LossConfig(gamma_min=0.1, gamma_max=gamma_max, **weights)
    fixed = LossConfig(margin="fixed", fixed_margin=0.1, **weights)
    similarity, positives, known = batch
    found = [
        gradient(lambda s, loss=loss, c=config: loss(s, positives, known, config=c), similarity)
        for loss, config in ((dynamic_margin_loss, dynamic), (triplet_loss, fixed))
    ]
    assert torch.equal(*found)


@given(batches)
def test_a_known_positive_is_never_pushed_away(batch):
    similarity, positives, known = batch
    for config in (CLIPPED, UNCLIPPED, LossConfig(**FLAT), LossConfig(detach_weights=True)):
        pushed = gradient(
            lambda s, c=config: dynamic_margin_loss(s, positives, known, config=c), similarity
        )
        assert torch.isfinite(pushed).all()
        assert (pushed[known] <= 0).all()


@given(batches)
def test_known_positives_that_were_not_drawn_are_left_alone(batch):
    similarity, positives, known = batch
    drawn = torch.zeros_like(known)
    for row, columns in enumerate(positives.tolist()):
        drawn[row, [column for column in columns if column >= 0]] = True
    pushed = gradient(lambda s: dynamic_margin_loss(s, positives, known), similarity)
    assert (pushed[known & ~drawn] == 0).all()


def test_several_positives_weigh_as_much_as_one():
    similarity, _, known = random_batch(5, n_positives=1)
    known[:, :2] = True
    one, other, both = (torch.tensor([columns] * 6) for columns in ([0], [1], [0, 1]))
    apart = [dynamic_margin_loss(similarity, drawn, known).item() for drawn in (one, other)]
    together = dynamic_margin_loss(similarity, both, known).item()
    assert together == pytest.approx(sum(apart) / 2)
