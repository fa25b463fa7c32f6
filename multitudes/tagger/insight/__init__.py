"""What a fitted tagger can show about its labels and about words, for people who look at it."""

from multitudes.tagger.insight.highlights import Highlight, highlights
from multitudes.tagger.insight.neighborhood import (
    Near,
    examples_of,
    n_texts_of,
    nearest_labels,
    other_names,
    path_to,
)

__all__ = [
    "Highlight",
    "Near",
    "examples_of",
    "highlights",
    "n_texts_of",
    "nearest_labels",
    "other_names",
    "path_to",
]
