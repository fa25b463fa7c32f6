"""benchmarks.disentangle runs on a small folder, draws, and takes gains the right way up."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.disentangle import __main__ as disentangle
from benchmarks.disentangle.__main__ import summary
from benchmarks.disentangle.figures import draw
from benchmarks.disentangle.study import (
    BASELINE,
    DISENTANGLED,
    KEPT,
    PAPER,
    RANDOM,
    Plan,
    Run,
    joined,
)
from benchmarks.report import mean_and_margin
from benchmarks.trees.long_tailed import long_tailed
from multitudes.data import Dataset, WriteOptions
from multitudes.data.formats.sparse_text import write_sparse_text


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    folder.mkdir()
    X, Y, X_test, Y_test = long_tailed(450, n_test=60)
    options = WriteOptions(label_kind="ids")
    write_sparse_text(Dataset(X=X, Y=Y), folder / "train.txt", options)
    write_sparse_text(Dataset(X=X_test, Y=Y_test), folder / "test.txt", options)
    return folder


def run(monkeypatch: pytest.MonkeyPatch, *given: str) -> None:
    monkeypatch.setattr(sys, "argv", ["disentangle", *given])
    disentangle.main()


def test_the_last_line_is_the_record(
    data_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    figures = tmp_path / "figures"
    settings = {"--data": data_folder, "--seeds": 2, "--overlaps": "1,3", "--fusions": "2"}
    settings |= {"--study-seeds": 1, "--rounds": 1, "--threads": 1, "--figures": figures}
    run(monkeypatch, *(str(word) for pair in settings.items() for word in pair), "--no-store")
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    result = record["results"]["sets"]["small"]
    found = result["settings"]
    assert {name: one["seeds"] for name, one in found.items()} == {
        BASELINE: 2, RANDOM: 2, DISENTANGLED: 2, KEPT: 2, PAPER: 2, "overlap 1": 1, "overlap 3": 1,
    }  # fmt: skip
    assert found[BASELINE]["p"][0] > 30  # a guess would be right in 1 of 150
    assert found[BASELINE]["slots"] == found["overlap 1"]["slots"] == 450
    assert 450 < found[RANDOM]["slots"] == found[DISENTANGLED]["slots"] <= 900
    assert result["p5_gain"] == pytest.approx(found[DISENTANGLED]["p"][2] - found[BASELINE]["p"][2])
    assert [(one["mode"], one["k"], one["labels"]) for one in result["fusions"]] == [
        ("easy", 2, 225), ("medium", 2, 225), ("hard", 2, 225),
    ]  # fmt: skip
    assert result["hard_gain_rel_p5"] == result["fusions"][2]["gain_rel_p5"]
    names = sorted(path.name for path in figures.iterdir())
    assert names == ["disentangle-fusions.png", "disentangle-overlaps.png"]


@pytest.mark.parametrize("option", ["--overlaps", "--fusions", "--seeds", "--threads"])
def test_numbers_start_at_one(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(monkeypatch, "--data", ".", option, "0")
    assert stopped.value.code == 2


def test_a_missing_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match="absent"):
        run(monkeypatch, "--data", str(tmp_path / "absent"), "--no-store")


def test_large_data_sets_get_a_smaller_study() -> None:
    plan = Plan(seeds=3, fusions=(2, 4), large_fusions=(2,))
    assert (plan.study_seeds_of(20_000), plan.study_seeds_of(20_001)) == (3, 1)
    assert (plan.fusions_of(20_000), plan.fusions_of(20_001)) == ((2, 4), (2,))
    # Gains are to the baseline of the same seed: there are never more seeds than it has.
    assert Plan(seeds=2, study_seeds=5).study_seeds_of(20_001) == 2


def test_columns_of_fused_labels_are_joined() -> None:
    Y = sp.csr_array(np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]], np.float32))
    together = joined(Y, np.array([0, 1, 0, 1]))
    np.testing.assert_array_equal(together.toarray(), [[1, 0], [0, 1], [0, 0]])


def test_margins_are_those_of_students_t() -> None:
    # The table's value for 2 degrees of freedom is 4.303; the standard error is 1 / sqrt(3).
    assert mean_and_margin([1, 2, 3]) == (2, pytest.approx(4.303 / 3**0.5, rel=1e-4))
    assert mean_and_margin([5]) == (5, None)


def one_run(p5: float, train_s: float, predict_s: float) -> Run:
    return Run([90, 80, p5], 10, 5, train_s, 2 * train_s, predict_s, 3 * predict_s)


@pytest.fixture
def found() -> dict[str, Any]:
    """Two seeds and a third timed round; overlap 3 and fusions with one seed."""
    return {
        "sizes": {"labels": 10},
        "seconds": {},
        "seeds": 2,
        "overlaps": [2, 3],
        "runs": {
            BASELINE: [one_run(60, 1, 2), one_run(62, 2, 4), one_run(60, 9, 9)],
            RANDOM: [one_run(59, 1, 1), one_run(62, 1, 1)],
            DISENTANGLED: [one_run(61, 4, 3), one_run(65, 5, 5), one_run(61, 6, 9)],
            KEPT: [one_run(60, 1, 1), one_run(62, 1, 1)],
            "overlap 3": [one_run(63, 1, 1)],
        },
        "fusions": [
            {"k": 2, "mode": "hard", "labels": 5, "p5": [[50, 60], [40, 44]]},
            {"k": 4, "mode": "hard", "labels": 3, "p5": [[50, 55], [40, 44]]},
        ],
    }


def test_gains_and_overheads_are_ours_minus_the_baselines(found: dict[str, Any]) -> None:
    result = summary(found)
    assert (result["p1_gain"], result["p3_gain"], result["p5_gain"]) == (0, 0, 2)
    assert result["p5_gain_random"] == -0.5
    assert result["train_overhead"] == result["train_cpu_overhead"] == (5 - 2) / 2
    assert result["predict_overhead"] == result["predict_cpu_overhead"] == (5 - 4) / 4
    assert result["hard_gain_rel_p5"] == pytest.approx((20 + 10) / 2)
    assert "easy_gain_rel_p5" not in result


def test_each_seed_counts_once_and_is_paired_with_its_baseline(found: dict[str, Any]) -> None:
    settings = summary(found)["settings"]
    assert settings[DISENTANGLED]["p"][2] == 63
    assert settings[DISENTANGLED]["seeds"] == 2
    assert settings["overlap 3"]["gain"][2] == 3
    assert settings["overlap 3"]["gain_margin"] == [None, None, None]


def test_figures_can_be_drawn_again_from_the_stored_record(
    found: dict[str, Any], tmp_path: Path
) -> None:
    stored = json.loads(json.dumps(summary(found)))
    paths = draw({"one": stored, "two": {**stored, "fusions": []}}, tmp_path / "figures")
    for path in paths:
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) < 100_000
    assert len(paths) == 2
