import pytest

from multitudes.deep.training import EpochRecord, History


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
