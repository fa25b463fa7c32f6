import math

import torch

from multitudes.deep.training.loss_terms import LossTerms, first_not_finite


def test_terms_wait_until_somebody_looks():
    terms = LossTerms(capacity=3)
    for i in range(3):
        terms.add({"loss": torch.tensor(float(i), requires_grad=True), "n": torch.tensor([i])})
    assert len(terms) == 3
    assert terms.read() == [{"loss": float(i), "n": float(i)} for i in range(3)]
    assert terms.read() == []
    terms.add({"n": torch.tensor(7), "loss": torch.tensor(8.0)})  # by name, whatever the order
    assert terms.read() == [{"loss": 8.0, "n": 7.0}]


def test_nothing_is_read_back_from_the_device_before_that():
    """A tensor on the meta device has no values: reading one would fail."""
    terms = LossTerms(capacity=1)
    terms.add({"loss": torch.zeros((), device="meta")})
    assert len(terms) == 1


def test_a_later_change_of_a_term_does_not_show():
    terms = LossTerms(capacity=1)
    loss = torch.tensor(1.0)
    terms.add({"loss": loss})
    loss += 1
    assert terms.read() == [{"loss": 1.0}]


def test_processes_are_averaged_only_where_there_is_something():
    terms = LossTerms(capacity=2)
    assert terms.read(lambda rows: rows / 0) == []
    terms.add({"loss": torch.tensor(4.0)})
    assert terms.read(lambda rows: rows / 2) == [{"loss": 2.0}]


def test_the_first_bad_batch_and_its_bad_terms():
    good, bad = {"loss": 1.0, "margin": 2.0}, {"loss": math.inf, "margin": 2.0}
    assert first_not_finite([good, bad, bad]) == (1, {"loss": math.inf})
    assert first_not_finite([good]) is None
