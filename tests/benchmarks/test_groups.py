"""benchmarks.groups runs on a small folder, draws, and takes gains the right way up."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks.groups import __main__ as groups
from benchmarks.groups.__main__ import summary
from benchmarks.groups.figures import behind, draw
from benchmarks.groups.study import (
    BASELINE,
    CONTRAST,
    EAGLE,
    METHODS,
    ORACLE,
    ROUNDS,
    START,
    Plan,
    Run,
    grouped,
)
from benchmarks.trees.data import Problem
from benchmarks.trees.long_tailed import long_tailed
from multitudes.data import Dataset, WriteOptions
from multitudes.data.formats.sparse_text import write_sparse_text


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    folder.mkdir()
    X, Y, X_test, Y_test = long_tailed(300, n_test=60)
    options = WriteOptions(label_kind="ids")
    write_sparse_text(Dataset(X=X, Y=Y), folder / "train.txt", options)
    write_sparse_text(Dataset(X=X_test, Y=Y_test), folder / "test.txt", options)
    return folder


def test_the_last_line_is_the_record(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {"--data": data_folder, "--seeds": 1, "--settings": "R-4,C", "--threads": 1}
    given |= {"--solver": "xr-linear"}
    words = [str(word) for pair in given.items() for word in pair]
    monkeypatch.setattr(sys, "argv", ["groups", *words, "--no-store"])
    groups.main()
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    result = record["results"]["sets"]["small"]
    assert set(result["settings"]) == {"R-4", "C"}
    assert set(result["settings"]["R-4"]) == {ORACLE, BASELINE, *METHODS}
    for key in ("r4_p1_gain", "r4_p5_gain", "r4_over_eagle0", "impute_accuracy_r4"):
        assert record["results"][key] == result[key]
    assert result["impute_seconds"] > 0
    assert result["solver_seconds"] > 0
    assert 0.25 < result["impute_accuracy_r4"] <= 1


def one(p: float, accuracy: float | None = None, impute: float = 0.0, train: float = 1.0) -> Run:
    return Run([p, p - 10, p - 20], accuracy, impute, impute, train, train)


FOUND = {
    "sizes": {},
    "depth": 3,
    "memory_factor": 1.2,
    "oracle": [one(90), one(92)],
    "settings": {
        "R-4": {
            BASELINE: [one(70, train=4.0), one(72, train=4.0)],
            START: [one(75), one(77)],
            EAGLE: [one(80, 0.6, 0.5, 2.0), one(82, 0.8, 0.5, 2.0)],
            CONTRAST: [one(84), one(86)],
            ROUNDS: [one(85), one(87)],
        },
        "R-10": {
            START: [one(40), one(42)],
            EAGLE: [one(50, 0.5), one(52, 0.5)],
            CONTRAST: [one(70), one(72)],
            ROUNDS: [one(80), one(82)],
        },
    },
    "sweep": {},
}


def test_gains_are_differences_of_means() -> None:
    found = summary(FOUND)
    assert found["r4_p1_gain"] == pytest.approx(10)
    assert found["r4_p5_gain"] == pytest.approx(10)
    assert found["r4_over_eagle0"] == pytest.approx(5)
    assert found["r10_p1_gain"] is None  # there was no baseline
    assert found["impute_accuracy_r4"] == pytest.approx(0.7)
    assert found["impute_over_solver"] == pytest.approx(0.25)
    assert found["eagle_over_baseline"] == pytest.approx(2.5 / 4)


def test_the_gap_is_that_between_eagle_and_the_oracle() -> None:
    found = summary(FOUND)
    assert found["r10_gap_closed"] == pytest.approx(30 / 40)
    assert found["r10_gap_closed_contrast"] == pytest.approx(20 / 40)
    assert found["r4_gap_closed"] == pytest.approx(5 / 10)


def test_the_figure_shows_how_far_behind_the_oracle_a_method_is(tmp_path: Path) -> None:
    sweep = dict.fromkeys(("R-4", "C-8", "N-0.5"), FOUND["settings"]["R-4"])
    found = summary({**FOUND, "settings": {}, "sweep": sweep})
    assert behind(found["settings"]["R-4"], EAGLE, 0) == pytest.approx(100 * (1 - 81 / 91))
    path = draw(found, tmp_path / "figures")
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("name", "n_groups"), [("R-4", 25), ("C-3", 8), ("C", 2), ("N-1", 2)])
def test_groups_by_name(name: str, n_groups: int) -> None:
    X, Y, X_test, Y_test = long_tailed(300, n_test=60)
    small = Problem(X[:100], Y[:100], X_test, Y_test)
    found = grouped(small, name, 0, Plan())
    assert found.shape == (100, n_groups)


def test_an_unknown_way_of_grouping_is_refused() -> None:
    X, Y, X_test, Y_test = long_tailed(300, n_test=60)
    with pytest.raises(ValueError, match="'Z-4' is not a way of grouping"):
        grouped(Problem(X, Y, X_test, Y_test), "Z-4", 0, Plan())
