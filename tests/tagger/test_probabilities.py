"""Probabilities and label sets of a tagger."""

from __future__ import annotations

import dataclasses
import io
import json

import numpy as np
import pytest

from multitudes.data import Dataset, make_catalogue, split
from multitudes.data.label_lists import label_lists_matrix
from multitudes.errors import ConfigError, DataError, NotFittedError
from multitudes.metrics import set_scores
from multitudes.scores.calibrated import CalibrationConfig
from multitudes.tagger import Tagger, predict_batches, predict_tags, predict_to
from multitudes.tagger.tags import named_tags

from .centroids import LABELS, TEXTS, Centroids
from .tiny_encoder import tiny, topical


@pytest.fixture(scope="module")
def parts() -> tuple[Dataset, Dataset, Dataset]:
    """Training, validation and test texts of a small shop."""
    rest, test = split(make_catalogue(1500, n_labels=60, random_state=3).dataset, test_size=300)
    train, validation = split(rest, test_size=300)
    return train, validation, test


@pytest.fixture(scope="module")
def tagger(parts) -> Tagger:
    train, validation, _ = parts
    return Tagger("xr-linear", n_jobs=1).fit(train).calibrate(validation)


def test_probabilities_come_in_the_order_of_predict(tagger, parts):
    texts = parts[2].texts[:50]
    plain, sure = tagger.predict(texts, top_k=4), tagger.predict_proba(texts, top_k=4)
    assert [[t.label for t in row] for row in plain] == [[t.label for t in row] for row in sure]
    scores = [tag.score for row in sure for tag in row]
    assert 0 <= min(scores) < max(scores) <= 1
    for row in tagger.predict_proba(texts, threshold=0.5):
        assert all(tag.score >= 0.5 for tag in row)


def test_probabilities_are_reliable(tagger, parts):
    report = tagger.calibrated_.report_
    assert report.n_instances == 300
    assert report.error_after < report.error_before
    tags = [row[0] for row in tagger.predict_proba(parts[2].texts, top_k=1)]
    hits = [tag.label in parts[2].labels_of(i) for i, tag in enumerate(tags)]
    assert np.mean([tag.score for tag in tags]) == pytest.approx(np.mean(hits), abs=0.06)


@pytest.mark.parametrize("sets", ["threshold", "label-thresholds", "expected-f1"])
def test_sets_beat_any_fixed_number_of_labels(tagger, parts, sets):
    _, validation, test = parts
    again = Tagger.from_state(tagger.to_state())
    again.calibrate(validation, config=CalibrationConfig(sets=sets))
    ids = {name: i for i, name in enumerate(again.classes_)}
    found = [[ids[tag.label] for tag in row] for row in again.predict_sets(test.texts)]
    value = set_scores(found, test.Y).f1
    ranked = again.predict_ids(test.texts, top_k=6)
    assert value > max(set_scores(ranked.top(k), test.Y).f1 for k in range(1, 7))


def test_a_batch_is_its_single_texts(tagger, parts):
    texts = parts[2].texts[:20]
    assert tagger.predict_sets(texts) == [tagger.predict_sets([text])[0] for text in texts]


def test_saved_and_loaded_it_says_the_same(tagger, parts, tmp_path):
    tagger.save(tmp_path / "model")
    again = Tagger.load(tmp_path / "model", verify=True)
    texts = parts[2].texts[:50]
    assert again.predict_sets(texts) == tagger.predict_sets(texts)
    assert again.calibrated_.report_ == tagger.calibrated_.report_


@pytest.mark.parametrize("top_k", [None, 1])
def test_lines_are_what_predict_sets_says(tagger, parts, top_k):
    out = io.BytesIO()
    n = predict_to(out, tagger, parts[2], kind="sets", top_k=top_k).n_labels
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    expected = [row[:top_k] for row in tagger.predict_sets(parts[2].texts)]
    assert [[tag["label"] for tag in line["labels"]] for line in lines] == [
        [tag.label for tag in row] for row in expected
    ]
    assert n == sum(map(len, expected))


def test_filter_pairs_are_left_out_before_sets_are_made(tagger, parts):
    best = tagger.predict_ids(parts[2].texts, top_k=1).labels[:, 0]
    pairs = np.stack([np.arange(300), best], axis=1)
    filtered = dataclasses.replace(parts[2], filter_pairs=pairs)
    ((_, found),) = predict_batches(tagger, filtered, kind="sets")
    assert not (found.labels == best[:, None]).any()
    assert (found.labels >= 0).any()


def test_labels_of_the_data_are_matched_by_name(tagger, parts):
    validation = parts[1]
    turned = dataclasses.replace(
        validation, Y=validation.Y[:, ::-1].tocsr(), label_names=validation.label_names[::-1]
    )
    again = Tagger.from_state(tagger.to_state()).calibrate(turned)
    assert again.calibrated_.report_ == tagger.calibrated_.report_


def test_what_changes_the_model_forgets_its_probabilities(tagger, parts):
    train = parts[0]
    texts, labels = train.texts[:20], [train.labels_of(i) for i in range(20)]
    for change in (
        lambda t: t.partial_fit(texts, labels),
        lambda t: t.add_labels(texts, [["new", *row] for row in labels]),
        lambda t: t.remove_labels([t.classes_[0]]),
        lambda t: t.fit(texts, labels),
    ):
        again = Tagger.from_state(tagger.to_state())
        assert again.calibrated_ is not None
        with pytest.raises(NotFittedError, match="no probabilities: call calibrate"):
            change(again).predict_sets(texts)


class Generator(Centroids):
    """Generates sets: the labels nearer than a half."""

    def predict_sets(self, X):
        return self.predict(X, top_k=3).above(0.5)


def test_a_model_that_generates_sets_says_itself():
    tagger = Tagger(Generator()).fit(TEXTS, LABELS)
    dataset = Dataset(Y=label_lists_matrix(LABELS, tagger.classes_)[0], texts=TEXTS)
    expected = [[tag for tag in row if tag.score >= 0.5] for row in tagger.predict(TEXTS, top_k=3)]
    assert any(len(row) > 1 for row in expected)
    for known in (tagger, tagger.calibrate(dataset)):
        assert known.predict_sets(TEXTS) == expected
    best = tagger.predict_ids(TEXTS, top_k=1).labels[:, 0]
    pairs = np.stack([np.arange(4), best], axis=1)
    ((_, found),) = predict_batches(
        tagger, dataclasses.replace(dataset, filter_pairs=pairs), kind="sets"
    )
    assert (found.labels >= 0).sum(axis=1).tolist() == [len(row) - 1 for row in expected]


def test_a_rule_that_was_asked_for_makes_the_sets_of_a_generator():
    tagger = Tagger(Generator()).fit(TEXTS, LABELS)
    dataset = Dataset(Y=label_lists_matrix(LABELS, tagger.classes_)[0], texts=TEXTS)
    generated = tagger.predict_sets(TEXTS)
    tagger.calibrate(dataset, config=CalibrationConfig(sets="threshold", min_size=1))
    assert not tagger.generates_sets
    plain = Tagger(Centroids()).fit(TEXTS, LABELS)
    plain.calibrate(dataset, config=CalibrationConfig(sets="threshold", min_size=1))
    assert tagger.predict_sets(TEXTS) == plain.predict_sets(TEXTS) != generated
    ((_, found),) = predict_batches(tagger, dataset, kind="sets")
    assert named_tags(found, tagger.classes_) == plain.predict_sets(TEXTS)
    assert tagger.calibrate(dataset).predict_sets(TEXTS) == generated


def test_a_text_encoder_gets_probabilities_too():
    tagger = tiny().fit(topical(60)).calibrate(topical(40, start=200))
    assert tagger.calibration_report().error_after < tagger.calibration_report().error_before
    (tags,) = tagger.predict_sets(["juicy apple orchard"])
    assert [tag.label for tag in tags] == ["fruit"]
    assert tags[0].score > 0.8


def test_misuse_is_told(tagger, parts):
    with pytest.raises(NotFittedError, match="has not learned anything"):
        Tagger().calibrate(parts[1])
    with pytest.raises(NotFittedError, match="has not learned anything"):
        Tagger().predict_proba(["a"])
    with pytest.raises(DataError, match="no instances to calibrate on"):
        tagger.calibrate(parts[1][:0])
    with pytest.raises(DataError, match="got None: give texts and labels, or one Dataset"):
        tagger.calibrate(["a"])
    with pytest.raises(ConfigError, match="config must be a CalibrationConfig, got dict"):
        tagger.calibrate(parts[1], config={"sets": "threshold"})
    features = dataclasses.replace(parts[1], texts=None, X=parts[1].Y)
    with pytest.raises(DataError, match="fitted on texts, the data has features X only"):
        tagger.calibrate(features)
    with pytest.raises(ConfigError, match="kind must be one of.*'probabilities'.*got 'margins'"):
        predict_tags(tagger, ["a"], kind="margins")


def test_data_without_a_known_label_is_refused(tagger, parts):
    strange = dataclasses.replace(
        parts[1], label_names=[f"strange {name}" for name in parts[1].label_names]
    )
    before = tagger.calibrated_
    with pytest.raises(DataError, match="none of the 300 instances has a label that the model"):
        tagger.calibrate(strange)
    assert tagger.calibrated_ is before


@pytest.mark.parametrize("kind", ["scores", "probabilities", "sets"])
@pytest.mark.parametrize("top_k", ["1", 0, -1, True, 1.5])
def test_top_k_must_be_a_number_of_labels(tagger, parts, kind, top_k):
    with pytest.raises(ConfigError, match="top_k must be a whole number >= 1, got"):
        predict_tags(tagger, ["a"], kind=kind, top_k=top_k)
    with pytest.raises(ConfigError, match="top_k must be a whole number >= 1, got"):
        next(predict_batches(tagger, parts[2], kind=kind, top_k=top_k))
