"""Features by name: what ``--features`` and ``Tagger(features=...)`` take, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

ENCODER = "encoder"


class FeatureSpec(NamedTuple):
    """Features under a name.

    Parameters
    ----------
    name : str
        As ``--features`` takes it.
    summary : str
        One line for help texts.
    make : str
        A class of `multitudes.features`.
    settings : mapping
        Settings that differ from its defaults; ``--set features.NAME=...`` changes them again.
    """

    name: str
    summary: str
    make: str
    settings: Mapping[str, Any]


FEATURES = (
    FeatureSpec("tfidf", "words, the rarer the weightier", "TfidfFeatures", {}),
    FeatureSpec(
        "words-bigrams",
        "words and pairs of neighboring words",
        "TfidfFeatures",
        {"word_ngrams": (1, 2)},
    ),
    FeatureSpec(
        "subwords",
        "words and parts of words, 4 characters long",
        "TfidfFeatures",
        {"char_ngrams": (4, 4)},
    ),
    FeatureSpec(
        "chars",
        "parts of words alone, 3 to 5 characters long",
        "TfidfFeatures",
        {"word_ngrams": None, "char_ngrams": (3, 5)},
    ),
    FeatureSpec(
        "stems",
        "stems of words, in the language of each text",
        "TfidfFeatures",
        {"stem": "auto"},
    ),
    FeatureSpec(
        "stems-bigrams",
        "stems of words, and pairs of neighboring ones",
        "TfidfFeatures",
        {"stem": "auto", "word_ngrams": (1, 2)},
    ),
    FeatureSpec(
        "stems-subwords",
        "stems of words, and parts of words, 4 characters long",
        "TfidfFeatures",
        {"stem": "auto", "char_ngrams": (4, 4)},
    ),
    FeatureSpec("hashing", "words, hashed: no vocabulary is kept", "HashingFeatures", {}),
)


def feature_spec(name: str) -> FeatureSpec | None:
    """Return the features of a name; None if there are none."""
    return next((spec for spec in FEATURES if spec.name == name), None)


def feature_summaries() -> list[tuple[str, str]]:
    """Return (name, what they are) of all features, for help texts and completion."""
    return [
        *((spec.name, spec.summary) for spec in FEATURES),
        (f"{ENCODER}:", "embeddings of a saved text encoder"),
        (f"tfidf,{ENCODER}:", "words beside the embeddings of a saved text encoder"),
    ]
