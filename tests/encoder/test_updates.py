"""A fitted Prime learns from further texts, and forgets labels."""

import copy

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import scipy.sparse as sp
import torch

from multitudes.encoder import ClassifierConfig, IndexConfig, PrototypeConfig, UpdateConfig
from multitudes.encoder.presets import prime_preset
from multitudes.encoder.prototypes.centroids import Centroids
from multitudes.encoder.sampling import SamplerConfig
from multitudes.errors import ConfigError, DataError, NotFittedError
from multitudes.store import load, save
from tests.encoder.prime_problems import SMALL, colors, epochs, prime, things, weights

MORE = UpdateConfig(epochs=8, learning_rate=1.0)


def p1(model, texts, Y):
    best = model.predict(texts, top_k=1).labels[:, 0]
    return Y.toarray()[np.arange(len(best)), best].mean()


@pytest.fixture(scope="module")
def parts():
    """Pairs of a color and a thing in two halves: of each label four texts, and six."""
    texts, Y, names = things()
    first = np.arange(len(texts)) % 10 < 4
    halves = [([texts[i] for i in np.flatnonzero(own)], Y[own]) for own in (first, ~first)]
    return (*halves, names)


@pytest.fixture(scope="module")
def fitted(parts):
    (texts, Y), _, names = parts
    model = prime(training=epochs(2), sampler=SamplerConfig(batch_size=32), keep_instances=True)
    return model.fit(texts, Y, label_texts=names).to(precision="float32")


@pytest.fixture
def model(fitted):
    return copy.deepcopy(fitted)


# --- partial_fit


def test_new_texts_are_learned(model, parts):
    _, (texts, Y), _ = parts
    before = p1(model, texts, Y)
    assert model.set_params(update=MORE).partial_fit(texts, Y) is model
    assert p1(model, texts, Y) > before + 0.1
    assert len(model.history_.epochs) == 8


def test_a_small_update_changes_little_and_the_same_update_the_same(model, fitted, parts):
    _, (texts, Y), _ = parts
    twin = copy.deepcopy(model)
    for one in (model, twin):
        one.partial_fit(texts[:30], Y[:30])
    old, new, again = (weights(m) for m in (fitted, model, twin))
    for name, value in new.items():
        np.testing.assert_array_equal(value, again[name], err_msg=name)
    np.testing.assert_array_equal(model.label_vectors_, twin.label_vectors_)
    moved = {name for name in old if not np.array_equal(old[name], new[name])}
    assert any(name.startswith("backbone.") for name in moved)
    assert "free_vectors.clusters" not in moved
    similarity = (model.label_vectors_ * fitted.label_vectors_).sum(axis=1)
    assert 0.8 < similarity.mean() < 1 - 1e-6


def test_the_model_stays_as_it_was_if_an_update_fails(model, fitted, parts, monkeypatch):
    _, (texts, Y), _ = parts

    def broken(*args, **kwargs):
        raise RuntimeError("stopped")

    monkeypatch.setattr("multitudes.encoder.updating.train", broken)
    with pytest.raises(RuntimeError):
        model.partial_fit(texts, Y)
    for name, value in weights(fitted).items():
        np.testing.assert_array_equal(value, weights(model)[name], err_msg=name)
    np.testing.assert_array_equal(model.predict(texts).scores, fitted.predict(texts).scores)


def test_one_text_is_enough(model, parts):
    texts, Y = parts[1]
    label = int(Y[[0]].indices[0])
    before = model.predict(texts[:1], top_k=36)
    model.partial_fit(texts[:1], Y[:1])
    after = model.predict(texts[:1], top_k=36)
    score = [dict(zip(f.labels[0], f.scores[0], strict=True))[label] for f in (before, after)]
    assert score[1] > score[0]


def test_centroids_take_in_new_instances_as_so_many_more():
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((10, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    given = rng.random((10, 3)) < 0.6
    given[:, 2] = False
    Y = sp.csr_array(given.astype(np.float32))
    whole, grown = Centroids(3, 4), Centroids(3, 4)
    whole.recompute(vectors, Y)
    grown.recompute(vectors[:6], Y[:6])
    lengths = np.linalg.norm(Y[:6].T @ vectors[:6], axis=1)
    grown.include(vectors[6:], Y[6:])
    np.testing.assert_array_equal(grown.counts, whole.counts)
    np.testing.assert_array_equal(grown.present, whole.present)
    # What is kept is the direction of the old sum: as if each old instance had that direction.
    counts = np.bincount(Y[:6].indices, minlength=3)
    for label in range(2):
        old = (Y[:6].T @ vectors[:6])[label] / lengths[label] * counts[label]
        expected = old + (Y[6:].T @ vectors[6:])[label]
        expected /= np.linalg.norm(expected)
        np.testing.assert_allclose(grown.vectors[label], expected, atol=1e-6)
    assert not grown.vectors[2].any()


@pytest.mark.parametrize("kind", ["momentum", "exact"])
def test_old_instances_stay_in_the_centroids(parts, kind):
    (old_texts, old_Y), (texts, Y), names = parts
    model = prime(training=epochs(2), prototypes=PrototypeConfig(centroids=kind))
    model.fit(old_texts, old_Y, label_texts=names)
    before = model.network_.centroids.vectors.clone()
    model.partial_fit(texts[:6], Y[:6])  # all of label 0
    after = model.network_.centroids
    assert after.counts.tolist() == [10] + [4] * 35
    moved = (after.vectors - before).abs().sum(dim=1) > 1e-6
    assert moved.nonzero().flatten().tolist() == [0]


def test_labels_that_were_added_learn_like_the_others(model, parts):
    texts, Y = parts[1]
    more = sp.hstack([Y, sp.csr_array((len(texts), 2))], format="csr")
    purple = [f"{word} purple box" for word in ("old", "new", "fine", "cheap", "sold", "small")]
    model.add_labels(["purple box", "purple car"], [purple[:1], []])
    named = sp.csr_array((np.ones(6), (np.arange(6), np.full(6, 36))), shape=(6, 38))
    model.set_params(update=MORE).partial_fit([*texts, *purple], sp.vstack([more, named]).tocsr())
    assert model.n_labels_ == 38
    assert len(model.added_centroids_) == 0
    assert model.network_.centroids.counts[36:].tolist() == [7, 0]
    assert model.predict(["very purple box made"], top_k=1).labels.tolist() == [[36]]
    assert sum(model.explain("purple box", 36).shares.values()) > 0
    assert len(model.explain("purple box", 36).nearest.instances) == 5
    assert model.add_labels(["another"]).n_labels_ == 39


def test_new_instances_can_be_explained_by(model, fitted, parts):
    texts, Y = parts[1]
    model.partial_fit(texts[:6], Y[:6])
    n_old = len(fitted.instances_.vectors)
    assert len(model.instances_.vectors) == n_old + 6
    nearest = model.explain(texts[0], 0, top_k=10).nearest
    assert sorted(nearest.instances.tolist()) == [0, 1, 2, 3, *range(n_old, n_old + 6)]


def test_a_classifier_goes_on_from_its_vectors(parts):
    (old_texts, old_Y), (texts, Y), names = parts
    settings = ClassifierConfig(epochs=3, batch_size=32)
    model = prime(training=epochs(2), classifier=True, classifier_settings=settings)
    model.fit(old_texts, old_Y, label_texts=names)
    before = model.label_vectors_.copy()
    model.partial_fit(texts, Y)
    similarity = (model.label_vectors_ * before).sum(axis=1)
    assert 0.9 < similarity.min() < similarity.max() < 1 - 1e-7


@pytest.mark.parametrize("name", ["dexa", "ngame", "siamese", "dpr"])
def test_the_encoders_it_is_compared_with_can_be_updated_too(name, tmp_path):
    texts, Y, names = colors(24)
    model = prime_preset(name).set_params(
        backbone=SMALL, training=epochs(1), sampler=SamplerConfig(batch_size=8)
    )
    model.fit(texts, Y, label_texts=names).add_labels(["purple"])
    wide = sp.hstack([Y, sp.csr_array((24, 1))], format="csr")
    model.partial_fit(texts[:8], wide[:8]).remove_labels([1])
    assert model.n_labels_ == 6
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(texts).labels, model.predict(texts).labels)
    again.partial_fit(texts[:8], wide[:8, [0, 2, 3, 4, 5, 6]])


def test_bad_input_is_refused_before_anything_is_trained(model, parts):
    texts, Y = parts[1]
    with pytest.raises(DataError, match="y has 35 labels, but the model has 36"):
        model.partial_fit(texts, Y[:, :35])
    with pytest.raises(DataError, match="no instance has a label"):
        model.partial_fit(texts, sp.csr_array(Y.shape))
    with pytest.raises(NotFittedError):
        prime().partial_fit(texts, Y)
    with pytest.raises(ConfigError, match="epochs"):
        UpdateConfig(epochs=0)


# --- remove_labels


@pytest.mark.parametrize("kind", ["flat", "hnsw"])
def test_removing_labels_is_never_predicting_them(model, parts, kind):
    if kind == "hnsw":
        pytest.importorskip("faiss")
    texts = parts[1][0][::5]
    model.set_params(index=IndexConfig(kind=kind, neighbors=8))
    model.add_labels(["purple box", "purple car"], [["a purple box"], []])
    gone = [0, 7, 35, 36]
    kept = np.setdiff1d(np.arange(38), gone)
    masked = model.embed(texts) @ model.label_vectors_[kept].T
    assert model.remove_labels(gone) is model
    assert model.n_labels_ == 34
    found = model.predict(texts, top_k=34)
    scores = np.take_along_axis(masked, found.labels.astype(int), axis=1)
    np.testing.assert_allclose(found.scores, scores, atol=1e-5)
    np.testing.assert_allclose(found.scores[:, 0], masked.max(axis=1), atol=1e-5)


def test_what_stays_is_explained_stored_and_updated(model, fitted, parts, tmp_path):
    _, (texts, Y), _ = parts
    gone = [0, 7]
    kept = np.setdiff1d(np.arange(36), gone)
    model.remove_labels(gone)
    for new in (0, 20):
        left, right = model.explain(texts[0], new), fitted.explain(texts[0], int(kept[new]))
        assert left.shares == pytest.approx(right.shares, abs=1e-5)
        np.testing.assert_array_equal(left.nearest.instances, right.nearest.instances)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model").to(precision="float32")
    np.testing.assert_array_equal(again.label_vectors_, model.label_vectors_)
    assert again.remove_labels(3).n_labels_ == 33
    model.partial_fit(texts, Y[:, kept])
    assert torch.equal(
        model.network_.free_vectors.clusters,
        fitted.network_.free_vectors.clusters[torch.from_numpy(kept)],
    )


def test_unknown_labels_and_all_labels_cannot_be_removed(model):
    with pytest.raises(DataError, match="label must be an id from 0 to 35, got 36"):
        model.remove_labels([36])
    with pytest.raises(DataError, match="all labels would be removed"):
        model.remove_labels(range(36))
    with pytest.raises(NotFittedError):
        prime().remove_labels([0])
