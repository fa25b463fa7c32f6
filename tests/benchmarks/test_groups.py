"""Studies of labels of groups run on a small problem, and the figure is drawn the right way up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.evidence.of_groups import ALL, METHODS, SIMULATION, table
from benchmarks.groups.figures import behind, draw
from benchmarks.groups.measure import after_steps, closest, diagnosed, groups_of, measured
from benchmarks.groups.simulation import SPREADS, TASKS, row_name
from benchmarks.report.records import Record
from benchmarks.trees.data import Problem
from benchmarks.trees.long_tailed import long_tailed

COMMON = {"solver": "xr-linear", "n_jobs": 1, "at rest": 300}


@pytest.fixture(scope="module")
def problem() -> Problem:
    return Problem(*long_tailed(300, n_test=60))


def test_every_row_is_measured(problem: Problem) -> None:
    rows = table(["R-4"])
    found = {row: measured(problem, {**COMMON, **own}, 0) for row, own in rows.items()}
    assert len(found) == 3 + 2 * len(METHODS)
    known = found["R-4, contrast, sets, numbers known"]
    assert known["labels found"] == pytest.approx(known["labels right"])
    assert all(0 < values["P@1"] <= 100 for values in found.values())
    assert "labels right" not in found["oracle"]
    assert found["R-4, baseline"]["labels found"] == pytest.approx(100)
    assert found["R-4, baseline"]["labels right"] < found["R-4, contrast, lists"]["labels right"]
    # From sets fewer labels are given to instances.
    lists, sets = found["R-4, EAGLE, lists"], found["R-4, EAGLE, sets"]
    assert sets["labels found"] <= lists["labels found"] + 1


def test_more_steps_come_nearer_to_rest(problem: Problem) -> None:
    grouping = {**COMMON, "grouping": "C-3", "counts": True}
    few, many = (after_steps(problem, {**grouping, "method": {"n_steps": n}}, 0) for n in (0, 100))
    assert few["Eq. 2, % of rest"] < many["Eq. 2, % of rest"] < 101
    assert few["closest as at rest"] <= many["closest as at rest"] == 100


def test_the_closest_member_is_found_pair_by_pair(problem: Problem) -> None:
    settings = {"grouping": "R-4", "counts": False}
    candidates, found = closest(problem, settings, 0, n_steps=0)
    first = np.concatenate([[0], np.cumsum(np.diff(candidates.group_indptr))])
    sizes = np.diff(first)[candidates.pair_group]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    assert len(found.place) == len(candidates.pair_group)
    assert np.all((found.place >= starts) & (found.place < starts + sizes))


def test_rows_of_the_simulation_are_those_of_its_figure() -> None:
    names = [row_name(task, spread) for task in TASKS for spread in SPREADS]
    assert list(SIMULATION.rows) == names
    settings = {**SIMULATION.common, **SIMULATION.rows["regression, sigma_2 = 5"], "draws": 5}
    one, other = (SIMULATION.run(Path(), settings, seed) for seed in (0, 1))
    assert one["with assignment"] < one["without assignment"]
    assert one["price"] == other["price"]
    assert one["oracle's error"] != other["oracle's error"]


def test_names_of_studies_and_rows_are_unique() -> None:
    assert len({study.name for study in ALL}) == len(ALL)
    for study in ALL:
        settings = [str(own) for own in study.rows.values()]
        assert len(set(settings)) == len(settings)


def row(*values: float) -> dict[str, object]:
    measures = {f"P@{k}": {"values": list(values)} for k in (1, 5)}
    return {"seeds": list(range(len(values))), "measures": measures}


RECORD = Record(
    "groups-sweeps",
    {
        "rows": {
            "oracle": row(90, 80),
            "R-2, EAGLE, lists": row(45, 60),
            "R-4, EAGLE, lists": row(40),
            "C-8, baseline": row(9, 8),
            "N-0.5, contrast, sets": row(81, 72),
        }
    },
)


def test_the_figure_shows_how_far_behind_the_oracle_a_method_is(tmp_path: Path) -> None:
    assert behind(RECORD, "R-2, EAGLE, lists", 1) == pytest.approx([50, 25])
    assert behind(RECORD, "R-4, EAGLE, lists", 5) == pytest.approx([100 * 5 / 9])
    path = draw(RECORD, tmp_path / "figures", k=5)
    assert path.name == "groups-p5.png"
    assert path.read_bytes().startswith(b"\x89PNG")


def test_what_a_diagnosis_says(problem: Problem) -> None:
    found = diagnosed(problem, {"grouping": "R-4", "counts": True}, 0)
    assert (found["groups"], found["members each"]) == (75, 4)
    assert found["price"] == pytest.approx(2, abs=0.2)


@pytest.mark.parametrize(("name", "n_groups"), [("R-4", 25), ("C-3", 8), ("C", 2), ("N-1", 2)])
def test_groups_by_name(problem: Problem, name: str, n_groups: int) -> None:
    assert groups_of(problem.X[:100], name, 0).shape == (100, n_groups)


def test_an_unknown_way_of_grouping_is_refused(problem: Problem) -> None:
    with pytest.raises(ValueError, match="'Z-4' is not a way of grouping"):
        groups_of(problem.X, "Z-4", 0)
