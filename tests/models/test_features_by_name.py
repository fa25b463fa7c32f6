"""Features by name: each can be made, is documented, and does what its sentence says."""

from pathlib import Path

import pytest

from multitudes.cli.training.model_help import features_help
from multitudes.errors import ConfigError
from multitudes.models.features import FEATURES, feature_summaries
from multitudes.tagger import Tagger
from multitudes.tagger.presets import named_features

NAMES = [spec.name for spec in FEATURES]
TEXTS = ["Donaudampfschiff im Hafen", "Dampfschiffe auf der Donau", "Hafen an der Donau"]
LABELS = [["ship"], ["ship"], ["port"]]
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", NAMES)
def test_a_tagger_takes_them_and_their_settings(name):
    tagger = Tagger(features=name, settings={"features.sublinear_tf": False}).fit(TEXTS, LABELS)
    assert tagger.features_.sublinear_tf is False
    assert tagger.predict(TEXTS[:1], top_k=1)[0][0].label == "ship"


def test_what_becomes_a_feature():
    def terms(name):
        return set(named_features(name).fit(TEXTS).feature_names)

    words = {"donaudampfschiff", "im", "hafen", "dampfschiffe", "auf", "der", "donau", "an"}
    assert terms("tfidf") == words
    assert terms("words-bigrams") >= words | {"der donau", "im hafen"}
    subwords = terms("subwords")
    assert subwords >= words | {"char:ampf", "char: don"}
    assert {len(term) for term in subwords - words} == {len("char:") + 4}
    assert {len(term) for term in terms("chars")} == {len("char:") + n for n in (3, 4, 5)}


def test_several_are_put_side_by_side():
    both = named_features("tfidf, chars")
    assert both.fit_transform(TEXTS).shape[1] == sum(
        named_features(name).fit_transform(TEXTS).shape[1] for name in ("tfidf", "chars")
    )


@pytest.mark.parametrize("wrong", ["subword", "tfidf:", "", "words-bigram"])
def test_an_unknown_name_gets_the_nearest(wrong):
    with pytest.raises(ConfigError, match="there are no features"):
        named_features(wrong)


@pytest.mark.parametrize("name", NAMES)
def test_help_completion_and_docs_know_them(name):
    assert f"{name}: " in features_help()
    assert name in dict(feature_summaries())
    assert f"`{name}`" in (ROOT / "docs" / "features.md").read_text(encoding="utf-8")
