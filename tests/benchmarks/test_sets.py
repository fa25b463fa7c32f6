"""benchmarks.sets runs on a small folder, and tunes nothing on the test part."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import sets
from benchmarks.sets import Scored, best_size, every_rule
from multitudes.data import make_catalogue
from multitudes.metrics import set_scores
from multitudes.types import Predictions


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    folder.mkdir()
    shop = make_catalogue(2000, n_labels=300, random_state=1).dataset
    lines = [
        json.dumps({"uid": str(i), "title": text, "content": "", "labels": ids.tolist()})
        for i, (text, ids) in enumerate(
            zip(shop.texts, np.split(shop.Y.indices, shop.Y.indptr[1:-1]), strict=True)
        )
    ]
    (folder / "trn.jsonl").write_text("\n".join(lines[:1700]) + "\n")
    (folder / "dev.jsonl").write_text("\n".join(lines[1700:]) + "\n")
    labels = [json.dumps({"uid": str(j), "title": name}) for j, name in enumerate(shop.label_names)]
    (folder / "lbl.jsonl").write_text("\n".join(labels) + "\n")
    return folder


def test_the_last_line_is_the_record(data_folder, monkeypatch, capsys):
    given = ["--data", str(data_folder), "--threads", "1", "--candidates", "10", "--no-store"]
    monkeypatch.setattr(sys, "argv", ["sets", *given])
    sets.main()
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    rows = record["rows"]
    assert rows["small"]["settings"]["test_split"] == "dev"
    assert rows["small"]["measures"]["instances"]["mean"] == 1530
    assert rows["small"]["measures"]["test"]["mean"] == 300
    fixed, made = (
        rows[f"small, XRLinear, tuned for micro, {rule}"]["measures"]["micro_f1"]["mean"]
        for rule in ("fixed size", "threshold")
    )
    assert made > fixed


def test_rules_are_tuned_on_the_validation_part_alone():
    ranked = Predictions.from_lists([[0, 1], [1, 0]], [[0.9, 0.6], [0.8, 0.5]], 2)
    both, first = np.ones((2, 2)), np.array([[1, 0], [0, 1]])
    validation, test = Scored(ranked, sets_of(both)), Scored(ranked, sets_of(first))
    assert best_size(validation, "micro") == 2
    found = every_rule(validation, test, "micro")
    for one in found.values():
        assert one["size"] == 2
        found_f1 = [one[f"micro_{part}"] for part in ("precision", "recall", "f1")]
        assert found_f1 == [100 * x for x in set_scores(ranked, test.truth)]


def sets_of(dense):
    from scipy.sparse import csr_array

    return csr_array(dense.astype(np.float32))
