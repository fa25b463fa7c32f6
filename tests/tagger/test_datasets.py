from __future__ import annotations

import dataclasses
import io
import json

import numpy as np
import pytest

from multitudes.data import Dataset
from multitudes.data.label_lists import label_lists_matrix
from multitudes.errors import ConfigError
from multitudes.tagger import Tagger, evaluate_dataset, predict_batches, predict_to

from .centroids import LABELS, TEXTS, Centroids


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger(Centroids()).fit(TEXTS, LABELS)


@pytest.fixture
def dataset(tagger) -> Dataset:
    Y, names = label_lists_matrix(LABELS, tagger.classes_)
    return Dataset(Y=Y, texts=TEXTS, label_names=names)


def written(*args, **options) -> list[dict]:
    out = io.BytesIO()
    predict_to(out, *args, **options)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_lines_are_what_predict_says(tagger, dataset, monkeypatch):
    monkeypatch.setattr("multitudes.tagger.prediction.BATCH", 3)
    lines = written(tagger, dataset, top_k=2)
    assert [line["row"] for line in lines] == [0, 1, 2, 3]
    for line, tags in zip(lines, tagger.predict(TEXTS, top_k=2), strict=True):
        assert [entry["label"] for entry in line["labels"]] == [tag.label for tag in tags]
        scores = [entry["score"] for entry in line["labels"]]
        np.testing.assert_allclose(scores, [tag.score for tag in tags], rtol=1e-6)


def test_uids_and_threshold(tagger, dataset):
    named = dataclasses.replace(dataset, uids=["a", "b", "c", "d"])
    lines = written(tagger, named, top_k=4, threshold=0.9)
    assert [line["uid"] for line in lines] == ["a", "b", "c", "d"]
    assert all(entry["score"] >= 0.9 for line in lines for entry in line["labels"])
    assert sum(len(line["labels"]) for line in lines) < 8


def test_filter_pairs_are_replaced_by_the_next_best(tagger, dataset):
    best, second = tagger.predict([TEXTS[0]], top_k=2)[0]
    pairs = np.array([[0, tagger.classes_.index(best.label)]])
    filtered = dataclasses.replace(dataset, filter_pairs=pairs)
    assert written(tagger, filtered, top_k=1)[0]["labels"][0]["label"] == second.label
    (_, predictions), *_ = predict_batches(tagger, filtered, top_k=1)
    assert predictions.top_k == 1


def test_evaluate_dataset_known_answers(tagger, dataset):
    report = evaluate_dataset(tagger, dataset, ks=(1,))
    assert report["P@1"] == 1.0
    assert report.n_instances == 4


def test_a_threshold_that_is_no_number(tagger, dataset):
    with pytest.raises(ConfigError, match="threshold must be a number, got nan"):
        written(tagger, dataset, threshold=float("nan"))
