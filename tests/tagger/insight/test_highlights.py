"""Words of a text that are behind a label, of each kind of model that reads words."""

from __future__ import annotations

import pytest

from multitudes import Tagger
from multitudes.data import make_catalogue
from multitudes.tagger.insight import highlights
from multitudes.tagger.insight.highlights import MOST_WORDS
from multitudes.tagger.members import fused_tagger

TEXT = "A Leather BELT, and a belt buckle: belts"


@pytest.fixture(scope="module")
def shop():
    return make_catalogue(600, n_labels=30, random_state=1).dataset


def shown(tagger, text=TEXT, label="belt"):
    found = highlights(tagger, text, tagger.explain(text, label))
    return {one.word: (one.weight, [text[start:end] for start, end in one.spans]) for one in found}


@pytest.mark.parametrize("name", ["xr-linear", "parabel", "one-vs-all"])
def test_words_add_up_to_the_margins(shop, name):
    tagger = Tagger(name, n_jobs=1).fit(shop)
    found = shown(tagger)
    assert found["belt"][1] == ["BELT", "belt"]
    assert found["belt"][0] == max(weight for weight, _ in found.values()) > 0
    steps = tagger.explain(TEXT, "belt").steps
    n_trees = 1 + max(step.tree for step in steps)
    total = sum(step.margin - step.bias for step in steps) / n_trees
    assert sum(weight for weight, _ in found.values()) == pytest.approx(total, abs=1e-4)


def test_stems_and_parts_of_words(shop):
    stemmed = Tagger("xr-linear", settings={"features.stem": "english"}, n_jobs=1).fit(shop)
    assert shown(stemmed)["belt"][1] == ["BELT", "belt", "belts"]
    settings = {"features.word_ngrams": None, "features.char_ngrams": (3, 4)}
    parts = Tagger("xr-linear", settings=settings, n_jobs=1).fit(shop)
    assert shown(parts)["char:belt"][1] == ["BELT", "belt", "belt"]


def test_names_that_are_found_in_the_text(shop):
    tagger = Tagger("lexical").fit(shop)
    assert shown(tagger)["BELT"] == (pytest.approx(1 / 3), ["BELT"])
    assert set(shown(tagger)) == {"BELT", "belt", "belts"}


def test_an_ensemble_divides_the_shares_of_its_members(shop):
    words = Tagger("xr-linear", n_jobs=1).fit(shop[:400])
    settings = {"features.word_ngrams": None, "features.char_ngrams": (3, 4)}
    parts = Tagger("one-vs-all", settings=settings, n_jobs=1).fit(shop[:400])
    names = Tagger("lexical").fit(shop[:400])
    whole = fused_tagger({"words": words, "parts": parts, "names": names}, shop[400:])
    found = shown(whole)
    assert found["belt"][1] == ["BELT", "belt"]
    assert found["char:belt"][1] == ["BELT", "belt", "belt"]
    says = whole.explain(TEXT, "belt").members
    total = sum(abs(one.share) for one in says if one.why is not None)
    assert 0 < sum(abs(weight) for weight, _ in found.values()) <= total + 1e-6


def test_nothing_known_and_nothing_at_all(shop):
    tagger = Tagger("xr-linear", n_jobs=1).fit(shop)
    assert shown(tagger, "qwertz") == shown(tagger, "") == {}


def test_not_more_than_anybody_reads(shop):
    tagger = Tagger("one-vs-all", n_jobs=1).fit(shop)
    text = " ".join(shop.texts)
    assert len(shown(tagger, text)) == MOST_WORDS
