"""benchmarks.trees runs on a small folder without peers, and takes its ratios the right way up."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.trees import __main__ as trees
from benchmarks.trees import overlap
from benchmarks.trees.arena import mean_precisions, precisions
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
    result = record["results"]["sets"]["small"]
    assert result["sizes"]["labels"] == 300
    assert result["weights"].keys() == {"float32", "float16", "int8"}
    assert result["weights"]["int8"]["model_mb"] < result["weights"]["float32"]["model_mb"]
    ours = result["xr_linear"]["ours"]
    assert ours["p"][0] > 30  # a guess would be right in 1 of 100
    assert ours["clusters"] == [1, 4]
    # 0 if training so few labels fits into what the warm-up has freed.
    assert 0 <= ours["training_mb"] < ours["peak_mb"]
    assert result["prediction"]["ours"]["n_online"] == 5


def test_what_two_leaves_cost_is_a_record(
    data_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ["--rounds", "2", "--threads", "1", "--online", "5"]
    overlap.main(["--data", str(data_folder), *settings, "--no-store"])
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    result = record["results"]["sets"]["small"]
    assert record["benchmark"] == "trees-overlap"
    assert result["sizes"]["labels"] == 300
    assert {"training_extra_cpu", "prediction_extra_cpu", "online_extra", "p5_diff"} < set(result)
    assert [one["random_state"] for one in result["rounds"]["overlap"]] == [0, 1]
    assert result["training"]["overlap"]["p"][0] > 30


def test_what_is_extra_is_in_units_of_the_plain_tree() -> None:
    times = {"ours": [trained(2, 30, 3, 60)], "overlap": [trained(5, 50, 6, 61)]}
    predictions = {"ours": [predicted(1, 2)], "overlap": [predicted(1.5, 5)]}
    assert overlap.extra(times, predictions) == {
        "training_extra": 1.5,
        "training_extra_cpu": 1.5,
        "prediction_extra": 0.5,
        "prediction_extra_cpu": 0.5,
        "online_extra": 1.5,
        "p1_diff": 1,
        "p3_diff": 1,
        "p5_diff": 1,
    }


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


def predicted(batch: float, online: float) -> dict[str, Any]:
    return {"batch_s": batch, "batch_cpu_s": batch, "online_p50_s": online}


def test_speedups_are_theirs_over_ours_and_sizes_ours_over_theirs() -> None:
    answers = {"ours": [trained(1, 30, 3, 61)], "pecos": [trained(5, 50, 6, 60)]}
    times = {"ours": [predicted(1, 1)], "pecos": [predicted(2, 3)]}
    assert trees.against_pecos(answers, times, seeds=1) == {
        "train_speedup_pecos": 5,
        "train_cpu_speedup_pecos": 5,
        "batch_speedup_pecos": 2,
        "batch_cpu_speedup_pecos": 2,
        "online_speedup_pecos": 3,
        "peak_rss_ratio_pecos": 0.6,
        "training_rss_ratio_pecos": 0.5,
        "model_size_ratio_pecos": 0.5,
        "p1_diff": 1,
        "p3_diff": 1,
        "p5_diff": 1,
    }


def test_without_pecos_there_is_nothing_to_compare() -> None:
    answers = {"ours": [trained(1, 30, 3, 61)]}
    assert trees.against_pecos(answers, {}, seeds=1) == {}
    assert trees.against_binary({}, seeds=1) == {}


def test_every_binary_peer_is_compared_to_ours() -> None:
    answers = {
        "ours": [trained(1, 30, 3, 60)],
        "omikuji": [trained(4, 30, 3, 60)],
        "napkinxc": [trained(7, 30, 3, 59)],
    }
    found = trees.against_binary(answers, seeds=1)
    assert found["train_speedup_omikuji"] == 4
    assert found["train_speedup_napkinxc"] == 7
    assert (found["p1_diff_omikuji"], found["p1_diff_napkinxc"]) == (0, 1)


def test_each_seed_counts_once() -> None:
    answers = [{"p": [60.0]}, {"p": [70.0]}, {"p": [60.0]}, {"p": [70.0]}, {"p": [60.0]}]
    assert mean_precisions(answers, seeds=2) == [65]


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
