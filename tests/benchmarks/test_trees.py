"""benchmarks.trees runs on a small folder without peers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.report.rows import middle, rows_of
from benchmarks.trees import __main__ as trees
from benchmarks.trees import overlap, tolerance
from benchmarks.trees.arena import precisions
from benchmarks.trees.contestants.process import measured
from benchmarks.trees.long_tailed import long_tailed
from multitudes.data import Dataset, WriteOptions
from multitudes.data.formats.sparse_text import write_sparse_text


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    folder.mkdir()
    X, Y, X_test, Y_test = long_tailed(300, n_test=40)
    options = WriteOptions(label_kind="ids")
    write_sparse_text(Dataset(X=X, Y=Y), folder / "train.txt", options)
    write_sparse_text(Dataset(X=X_test, Y=Y_test), folder / "test.txt", options)
    return folder


def test_the_last_line_is_the_record(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"--data": str(data_folder), "--peers": "", "--rounds": "1", "--seeds": "1"}
    settings |= {"--threads": "1", "--online": "5"}
    given = [word for pair in settings.items() for word in pair]
    monkeypatch.setattr(sys, "argv", ["trees", *given, "--no-jit", "--no-store"])
    trees.main()
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    found = {
        name: {key: middle(one) for key, one in row["measures"].items()}
        for name, row in record["rows"].items()
    }
    assert found["small"]["labels"] == 300
    sizes = {kind: found[f"small, weights, {kind}"] for kind in ("float32", "float16", "int8")}
    assert sizes["int8"]["model_mb"] < sizes["float32"]["model_mb"]
    ours = found["small, xr_linear, ours"]
    assert ours["P@1"] > 30  # a guess would be right in 1 of 100
    assert record["rows"]["small, xr_linear, ours"]["settings"]["clusters"] == "[1, 4]"
    # 0 if training so few labels fits into what the warm-up has freed.
    assert 0 <= ours["training_mb"] < ours["peak_mb"]
    assert found["small, prediction, ours"]["online_p50_ms"] > 0


def test_what_two_leaves_cost_is_a_record(
    data_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ["--rounds", "2", "--threads", "1", "--online", "5"]
    overlap.main(["--data", str(data_folder), *settings, "--no-store"])
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert record["rows"]["small"]["measures"]["labels"]["values"] == [300]
    for who in ("ours", "overlap"):
        trained = record["rows"][f"small, training, {who}"]
        assert trained["seeds"] == [0, 1]
        assert middle(trained["measures"]["P@5"]) > 10
        assert len(trained["measures"]["cpu_seconds"]["values"]) == 2
        assert middle(record["rows"][f"small, prediction, {who}"]["measures"]["online_p50_ms"]) > 0


def test_tolerances_are_compared_on_the_same_trees(
    data_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tolerance.main(["--data", str(data_folder), "--seeds", "2", "--no-store"])
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])["rows"]
    found = [rows[f"small, {name}"]["measures"]["P@1"]["values"] for name in tolerance.SOLVERS]
    assert np.shape(found) == (6, 2)
    # No cluster has more than 1,024 instances here, so that nothing grows.
    assert (found[1], found[3]) == (found[2], found[4])
    *_, smaller, same = (rows[f"small, {n}"]["measures"]["weights"] for n in tolerance.SOLVERS)
    assert middle(smaller) > middle(same)


def test_an_unknown_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["trees", "--data", ".", "--peers", "other"])
    with pytest.raises(SystemExit):
        trees.main()


def trained(seconds: float, peak: float, size: int, p: float) -> dict[str, Any]:
    return {
        "seconds": seconds,
        "cpu_seconds": 2 * seconds,
        "peak_mb": peak,
        "start_mb": 10.0,
        "model_bytes": size,
        "p": [p, p - 10, p - 20],
    }


def test_costs_are_by_round_and_precision_by_seed() -> None:
    answers = [trained(1, 30, 2**20, 60), trained(3, 50, 2**20, 70), trained(2, 40, 2**20, 0)]
    (row,) = rows_of({"ours": trees.of_training(answers, seeds=2)}).values()
    found = row["measures"]
    assert found["seconds"] == {"values": [1, 3, 2], "median": 2, "interval": [1, 3]}
    assert found["training_mb"]["values"] == [20, 40, 30]
    assert found["model_mb"]["median"] == 1
    assert (found["P@1"]["values"], found["P@1"]["mean"]) == ([60, 70], 65)
    assert row["seeds"] == [0, 1]


def test_precisions_are_percentages_and_missing_labels_are_misses(tmp_path: Path) -> None:
    np.save(tmp_path / "labels.npy", np.array([[0, 1, 2, 3, 4], [5, 0, -1, -1, -1]], np.int32))
    truth = np.zeros((2, 6), np.float32)
    truth[0, [0, 2]] = truth[1, 0] = 1
    sp.save_npz(tmp_path / "Y.npz", sp.csr_matrix(truth))
    expected = [100 * 1 / 2, 100 * 3 / 6, 100 * 3 / 10]
    assert precisions(tmp_path / "labels.npy", tmp_path / "Y.npz") == pytest.approx(expected)


def test_memory_is_what_the_work_adds() -> None:
    held, cost = measured(lambda: np.ones(2**23))  # 64 MB
    assert held.nbytes / 2**20 == 64
    assert cost["peak_mb"] - cost["start_mb"] > 60
