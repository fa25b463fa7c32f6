"""benchmarks.updates runs on a small folder, and takes differences the right way up."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import updates
from benchmarks.report.storing import problems
from benchmarks.trees.long_tailed import long_tailed
from multitudes.data import Dataset, WriteOptions
from multitudes.data.formats.sparse_text import write_sparse_text
from multitudes.types import Predictions


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    folder.mkdir()
    X, Y, X_test, Y_test = long_tailed(450, n_test=60)
    options = WriteOptions(label_kind="ids")
    write_sparse_text(Dataset(X=X, Y=Y), folder / "train.txt", options)
    write_sparse_text(Dataset(X=X_test, Y=Y_test), folder / "test.txt", options)
    return folder


@pytest.mark.parametrize("overlap", ["1", "2"])
def test_the_last_line_is_the_record(data_folder, monkeypatch, capsys, overlap):
    given = ["--data", str(data_folder), "--seeds", "2", "--rounds", "1", "--threads", "1"]
    given += ["--overlap", overlap]
    monkeypatch.setattr(sys, "argv", ["updates", *given, "--no-store"])
    updates.main()
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert problems(record) == []
    added, retrained = (record["rows"][f"small, {way}"] for way in ("added", "retrained"))
    assert retrained["measures"]["P@1"]["mean"] > 30  # a guess would be right in 1 of 150
    assert added["seeds"] == [0, 1]
    assert len(added["measures"]["new_recall@5"]["values"]) == 2
    assert "median" in added["measures"]["seconds"]


def test_held_out_labels_come_last_and_are_not_known_at_first():
    Y = sp.csr_array(np.eye(40, dtype=np.float32))
    problem = updates.Problem(Y, Y, Y, Y, 40).held_out(0)
    assert problem.n_old == 38
    X_old, Y_old = problem.old_part()
    assert X_old.shape == (38, 40)
    assert Y_old.shape == (38, 38)
    assert sorted(problem.Y.indices.tolist()) == list(range(40))


def test_recall_counts_new_labels_alone():
    truth = sp.csr_array(np.array([[1, 0, 1, 1], [1, 0, 0, 1]], np.float32))
    problem = updates.Problem(truth, truth, truth, truth, 2)
    found = Predictions.from_lists([[0, 2], [3, 1]], [[0.9, 0.5], [0.8, 0.2]], 4)
    assert updates.new_recall(found, problem) == pytest.approx(100 * 2 / 3)
