"""Senses in names, words and texts."""

from __future__ import annotations

import itertools

import pytest

from multitudes.data import Dataset, make_catalogue
from multitudes.errors import ConfigError, DataError, NotFittedError
from multitudes.features import TfidfFeatures
from multitudes.tagger import Tagger
from multitudes.tagger import explanations as module
from multitudes.tagger.explanations import TEXT_LENGTH, shortened, typical_texts

SETTINGS = {"overlap": 2, "match_width": 1}


@pytest.fixture(scope="module")
def shop():
    return make_catalogue(20_000, n_labels=1500, random_state=1).dataset


@pytest.fixture(scope="module")
def tagger(shop):
    return Tagger("xr-linear", settings=SETTINGS).fit(shop)


def test_an_ambiguous_word_of_the_catalogue(tagger, shop):
    """Jaguars are made in Coventry and live in the Pantanal."""
    cars, cats = tagger.senses("jaguar")
    assert cars.n_instances > cats.n_instances
    assert "cars" in cars.nearest
    assert "big cats" in cats.nearest
    assert {"coventry", "bonnet"} <= {word for word, _ in cars.words}
    assert {"pantanal", "hunters"} <= {word for word, _ in cats.words}
    assert len(cars.texts) == len(cats.texts) == 3
    labels = {shortened(text): shop.labels_of(row) for row, text in enumerate(shop.texts)}
    assert all("jaguar" in labels[text] for text in cars.texts + cats.texts)


def test_ambiguous_labels_by_name(tagger):
    found = tagger.ambiguous_labels(top_k=7)
    assert len(found) == 7
    assert {row.label for row in found} <= set(tagger.classes_)
    distances = [row.separation for row in found]
    assert distances == sorted(distances, reverse=True)
    for row in found:
        assert 0 < row.separation < 1


def test_all_of_it_comes_back_from_disk(tagger, tmp_path):
    tagger.save(tmp_path / "model")
    again = Tagger.load(tmp_path / "model", verify=True)
    for label in ("jaguar", "apple", "fashion"):
        assert again.senses(label) == tagger.senses(label)
    assert again.ambiguous_labels() == tagger.ambiguous_labels()


def test_texts_are_kept_for_labels_with_several_leaves_only(tagger):
    (tree,) = [part.tree_ for part in tagger.model_.models_]
    (notes,) = tagger.model_.notes_
    indptr, slots = tree.slots_of_label()
    wanted = set()
    for first, last in itertools.pairwise(indptr.tolist()):
        if last - first > 1:
            wanted |= set(notes.examples[slots[first:last]].ravel().tolist()) - {-1}
    assert set(tagger.examples_) == wanted


def test_the_texts_of_the_commonest_senses_are_kept_first(tagger, shop, monkeypatch):
    monkeypatch.setattr(module, "MAX_TEXTS", 10)
    kept = typical_texts(tagger.model_, shop.texts)
    assert len(kept) == 10
    notes = tagger.model_.notes_[0]
    most = int(notes.counts.argmax())
    assert notes.examples[most][0] in kept
    assert notes.examples[most][2] not in kept


def test_features_without_names(shop):
    some = shop[:3000]
    X = TfidfFeatures().fit_transform(some.texts)
    settings = {"overlap": 2, "max_leaf_size": 50}
    tagger = Tagger("xr-linear", settings=settings).fit(
        Dataset(Y=some.Y, X=X, label_names=some.label_names)
    )
    sense = tagger.senses("jaguar")[0]
    assert sense.words[0][0].startswith("feature ")
    assert sense.texts == ()


def test_texts_are_shortened_between_words():
    assert shortened("a  short\n\ttext ") == "a short text"
    long = shortened("word " * 100)
    assert len(long) <= TEXT_LENGTH
    assert long.endswith("word…")
    assert len(shortened("x" * 1000)) == TEXT_LENGTH
    assert shortened("half \ud83d pair") == "half ? pair"


def test_unknown_labels_and_models_without_senses(tagger, shop):
    with pytest.raises(DataError, match="did you mean 'jaguar'"):
        tagger.senses("jaguars")
    with pytest.raises(NotFittedError):
        Tagger().senses("a")
    plain = Tagger("xr-linear").fit(shop[:500])
    for ask in (lambda: plain.senses("jaguar"), plain.ambiguous_labels):
        with pytest.raises(ConfigError, match="lives in one leaf .* overlap=2 or more"):
            ask()
    assert plain.examples_ == {}
