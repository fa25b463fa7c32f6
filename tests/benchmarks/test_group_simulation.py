"""Theorem 1 in simulation: label assignment beats none as groups spread, and not near 0."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.groups import simulation
from benchmarks.report.records import Record
from multitudes.data.groups import memberships
from multitudes.groups.within_spread import within_spread

SEEDS = 20


@pytest.fixture(scope="module")
def results():
    return {
        (task, sigma_2): simulation.simulate(task, sigma_2, seeds=SEEDS)
        for task in simulation.TASKS
        for sigma_2 in simulation.SPREADS
    }


@pytest.mark.parametrize("sigma_2", [5.0, 10.0])
def test_regression_gains_from_assignment_where_groups_are_wide(results, sigma_2):
    row = results["regression", sigma_2]
    assert row["with"] < 1.1
    assert row["without"] > 2.5


@pytest.mark.parametrize("sigma_2", [0.1, 1.0])
def test_regression_loses_by_assignment_where_groups_are_narrow(results, sigma_2):
    row = results["regression", sigma_2]
    assert row["with"] - row["without"] > 4 * (row["with_se"] + row["without_se"])


def test_equal_members_need_no_assignment(results):
    row = results["regression", 0.0]
    assert (row["with"], row["without"]) == pytest.approx((1, 1))


def test_without_assignment_the_error_follows_the_price(results):
    for sigma_2 in simulation.SPREADS:
        row = results["regression", sigma_2]
        assert row["without"] == pytest.approx(row["price"], rel=0.15)


def test_classification_gains_most_from_assignment_in_mixed_groups(results):
    gains = [
        results["classification", s]["without"] / results["classification", s]["with"]
        for s in simulation.SPREADS
    ]
    assert gains[0] > 3
    assert gains[0] > gains[2] > gains[4]
    assert gains[4] == pytest.approx(1, abs=0.1)


def test_the_drawn_spread_is_the_one_that_is_estimated():
    sample = simulation.draw_regression(5.0, np.random.default_rng(0))
    n_groups, size, n_features = sample.X.shape
    groups = memberships(np.repeat(np.arange(n_groups), size), n_groups)
    spread = within_spread(sample.X.reshape(-1, n_features), groups)
    assert spread.sigma_2 == pytest.approx(5, rel=0.05)
    assert spread.sigma_1 == pytest.approx(1, rel=0.3)


def test_the_order_within_a_group_does_not_matter():
    for task in simulation.TASKS.values():
        sample = task.draw(1.0, np.random.default_rng(1))
        reversed_Z = sample.Z[:, ::-1]
        first = task.without(sample.X, sample.Z)
        assert np.allclose(first, task.without(sample.X, reversed_Z))
        assert np.allclose(
            task.assigned(sample.X, sample.Z, first), task.assigned(sample.X, reversed_Z, first)
        )


def test_the_figure_is_drawn(results, tmp_path):
    rows = {
        simulation.row_name(*name): {
            "seeds": [0],
            "measures": {
                "without assignment": {"values": [found["without"]]},
                "with assignment": {"values": [found["with"]]},
                "price": {"values": [found["price"]]},
            },
        }
        for name, found in results.items()
    }
    record = Record("groups-simulation", {"rows": rows})
    path = simulation.draw_figure(record, tmp_path / "figures" / "f.png")
    assert path.stat().st_size > 10_000
