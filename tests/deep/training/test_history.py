import math

import pytest
import torch

from multitudes.deep.training import EpochRecord, History
from multitudes.deep.training.history import LossTerms, first_not_finite


def history(*values, monitor=None):
    epochs = [
        EpochRecord(i, metrics={} if value is None else {"fit": value, "size": -value})
        for i, value in enumerate(values)
    ]
    return History(monitor, epochs)


@pytest.mark.parametrize(
    ("values", "patience", "stale"),
    [
        ([], 1, False),
        ([None, None, None], 1, False),
        ([0.5], 1, False),
        ([0.5, 0.4], 1, True),
        ([0.5, 0.4], 2, False),
        ([0.5, 0.5], 1, True),
        ([0.5, 0.4, 0.6], 1, False),
        ([0.5, None, 0.4, None], 2, False),
        ([0.5, None, 0.4, None, 0.3], 2, True),
        ([0.5, 0.4, 0.3], None, False),
    ],
)
def test_stale(values, patience, stale):
    assert history(*values).is_stale(patience) is stale


def test_the_monitored_metric_decides():
    assert history(0.1, 0.2).best.epoch == 1
    assert history(0.1, 0.2, monitor="size").best.epoch == 0
    assert history(None).best is None


def test_means_over_batches():
    record = EpochRecord(0)
    record.add([{"loss": 1.0}, {"loss": 2.0}])
    record.add([])
    record.add([{"loss": 6.0}])
    assert record.terms == {"loss": 3.0}
    assert record.n_batches == 3


def test_json_round_trip():
    one = history(0.1, None, monitor="fit")
    assert History.from_json(one.to_json()) == one


def test_terms_wait_until_they_are_read():
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
