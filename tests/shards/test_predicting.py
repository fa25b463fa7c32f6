"""Predictions and metrics of shards are those of one file."""

import json

import pytest

from multitudes.data import read_dataset
from multitudes.engine import LocalCluster
from multitudes.errors import ConfigError, DataError
from multitudes.metrics import evaluate
from multitudes.shards import evaluate_shards, predict_shards
from multitudes.tagger import Tagger, evaluate_dataset


@pytest.fixture
def model(shards, tmp_path):
    Tagger("xr-linear").fit(read_dataset(tmp_path / "whole.jsonl")).save(tmp_path / "model")
    return tmp_path / "model"


def test_predictions_and_metrics_are_those_of_one_file(model, shards, tmp_path):
    out = tmp_path / "predictions"
    assert predict_shards(model, shards, out, cluster=LocalCluster(2)) == 5
    found = [json.loads(s) for f in sorted(out.glob("part-*")) for s in f.read_text().splitlines()]
    tagger, whole = Tagger.load(model), read_dataset(tmp_path / "whole.jsonl")
    tags = tagger.predict(whole.texts)
    assert [[one["label"] for one in row["labels"]] for row in found] == [
        [tag.label for tag in row] for row in tags
    ]
    report = evaluate_shards(out, shards, run=tmp_path / "measured", cluster=LocalCluster(2))
    expected = evaluate_dataset(tagger, whole)
    assert list(report.values) == list(expected.values)
    assert report.values == expected.values  # to the last bit
    assert report.remarks() == expected.remarks()


def test_what_is_there_is_kept(model, shards, tmp_path):
    out = tmp_path / "predictions"
    predict_shards(model, shards, out)
    times = {file: file.stat().st_mtime_ns for file in out.glob("part-*")}
    (out / "part-00002.jsonl").unlink()
    predict_shards(model, shards, out)
    again = {file: file.stat().st_mtime_ns for file in out.glob("part-*")}
    assert [f.name for f in times if times[f] != again[f]] == ["part-00002.jsonl"]
    with pytest.raises(ConfigError, match="holds another run"):
        predict_shards(model, shards, out, top_k=2)


def test_what_cannot_be_done_is_said(model, shards, tmp_path):
    with pytest.raises(ConfigError, match="not the folder of a model"):
        predict_shards(tmp_path, shards, tmp_path / "out")
    with pytest.raises(DataError, match="5 shards of predictions and 1 of the truth"):
        evaluate_shards(shards, tmp_path / "whole.jsonl", run=tmp_path / "run")


def test_the_numbers_are_those_of_metrics(tmp_path):
    truth = [{"text": "x", "labels": ["a", "b"]}, {"text": "y", "labels": ["c"]}]
    found = [{"row": 0, "labels": ["a", "c"]}, {"row": 0, "labels": ["b"]}]
    for i in range(2):
        (tmp_path / f"truth-{i}.jsonl").write_text(json.dumps(truth[i]))
        (tmp_path / f"found-{i}.jsonl").write_text(json.dumps(found[i]))
    report = evaluate_shards(tmp_path / "found-*", tmp_path / "truth-*", run=tmp_path / "run")
    assert report["P@1"] == 1 / 2
    assert report["macro-P@1"] == 1 / 3  # of a, b and c
    expected = evaluate([["a", "c"], ["b"]], [["a", "b"], ["c"]])
    assert report.values == expected.values
