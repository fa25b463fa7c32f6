"""Where terms stand in a text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multitudes.features import ConcatFeatures, HashingFeatures, TfidfFeatures
from multitudes.features.spans import MOST_CHARACTERS, MOST_SPANS, term_spans

TEXT = "The C++ belt, BELTS and belts:\tfür Zu\u0308rich, İzmir und ΣΟΦΟΣ. The belt!"


def written(text, features, *terms):
    found = term_spans(text, features, terms)
    return {term: [text[start:end] for start, end in spans] for term, spans in found.items()}


def fitted(**settings):
    return TfidfFeatures(**settings).fit([TEXT])


def test_words():
    assert written(TEXT, fitted(), "belt", "belts", "c++", "zürich", "i̇zmir", "missing") == {
        "belt": ["belt", "belt"],
        "belts": ["BELTS", "belts"],
        "c++": ["C++"],
        "zürich": ["Zu\u0308rich"],
    }


def test_several_words():
    found = written(TEXT, fitted(word_ngrams=(1, 3)), "the belt", "belts und", "c++ belt belts")
    assert found == {"the belt": ["The belt"], "c++ belt belts": ["C++ belt, BELTS"]}


def test_stems_and_accents():
    assert written(TEXT, fitted(stem="english"), "belt") == {
        "belt": ["belt", "BELTS", "belts", "belt"]
    }
    assert written(TEXT, fitted(strip_accents=True), "zurich", "fur") == {
        "zurich": ["Zu\u0308rich"], "fur": ["für"],
    }  # fmt: skip
    german = "Die Gürtel und der Gürtel für die Häuser, das ist ein Haus"
    features = TfidfFeatures(stem="auto").fit([german])
    (term,) = [name for name in features.feature_names if name.startswith("gurtel")] or ["gürtel"]
    assert written(german, features, term) == {term: ["Gürtel", "Gürtel"]}


def test_parts_of_words():
    features = fitted(word_ngrams=None, char_ngrams=(3, 4))
    assert written(TEXT, features, "char: be", "char:elt,", "char:zür") == {
        "char: be": ["be", "BE", "be", "be"],
        "char:elt,": ["elt,"],
        "char:zür": ["Zu\u0308r"],
    }


def test_other_features():
    both = ConcatFeatures([TfidfFeatures(), HashingFeatures()]).fit([TEXT])
    assert written(TEXT, both, "belt") == {"belt": ["belt", "belt"]}
    assert term_spans(TEXT, HashingFeatures(), ["belt"]) == {}
    assert term_spans("", both, ["belt"]) == {}


def test_not_more_than_anybody_looks_at():
    text = "belt " * (MOST_SPANS + 10)
    assert len(term_spans(text, fitted(), ["belt"])["belt"]) == MOST_SPANS


def test_long_texts_are_looked_at_in_part():
    features = fitted()
    text = "x " * (MOST_CHARACTERS // 2 - 2) + "belts belts"
    assert len(text) > MOST_CHARACTERS
    assert term_spans(text, features, ["belts", "belt", "bel"]) == {}
    assert list(term_spans(text[10:], features, ["belts"])) == ["belts"]


@pytest.mark.parametrize(
    "options",
    [
        {"word_ngrams": (1, 2)},
        {"word_ngrams": None, "char_ngrams": (2, 4)},
        {"strip_accents": True},
        {"lowercase": False},
        {"stem": "german"},
    ],
    ids=str,
)
@settings(max_examples=60, deadline=None)
@given(text=st.text(alphabet="aAbBäÄu\u0308İßΣ é#+_.\t\n\0x1", max_size=40))
def test_all_that_is_counted_is_found(options, text):
    """A term stands as often in a text as the features count it there."""
    text += " x"
    features = TfidfFeatures(sublinear_tf=False, **options).fit([text])
    row = features.transform([text])
    terms = [features.feature_names[column] for column in row.indices]
    spans = term_spans(text, features, terms)
    assert set(spans) == set(terms)
    counts = row.data / features.idf_[row.indices]  # up to the length of the row
    n_spans = [len(spans[term]) for term in terms]
    assert (counts / counts[0]).tolist() == pytest.approx([n / n_spans[0] for n in n_spans])
    assert all(0 <= start < end <= len(text) for some in spans.values() for start, end in some)
