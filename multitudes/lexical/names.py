"""The names of labels, and the languages they are read in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from multitudes.errors import ConfigError, DataError, suggestion
from multitudes.features.languages import DETECTED, LANGUAGES
from multitudes.features.stemming import AUTO, FALLBACK, language_counts
from multitudes.types import LabelArray

SEPARATORS = re.compile("[;\n]")
QUALIFIER = re.compile(r"\s*\([^()]*\)")
LEVELS = re.compile(r"::|\s+(?:>|/|--|\|)\s+")  # "arts > music", "field::biology"
# Of the texts that show a language: fewer are likely to be mistaken. Names show little.
LEAST_SHARE, LEAST_SHARE_OF_NAMES = 0.05, 0.2


def names_of(text: str | Sequence[str]) -> list[str]:
    """Return the names in the text of a label, the preferred one first.

    Names are separated by semicolons or line ends. One with a qualifier in brackets, as in
    "mercury (planet)", is also a name without it, and one with levels, as in "arts > music" or
    "field::biology", by its last alone.
    """
    listed = SEPARATORS.split(text) if isinstance(text, str) else list(text)
    names = [name.strip() for name in listed]
    names += [QUALIFIER.sub("", name).strip() for name in names if "(" in name]
    names += [LEVELS.split(name)[-1].strip() for name in names]
    return [name for name in dict.fromkeys(names) if name]


def listed_names(label_texts: Any) -> tuple[list[str], LabelArray]:
    """Return the names of all labels, and the label of each.

    Parameters
    ----------
    label_texts : sequence of str, or of sequences of str
        The names of each label; "" or an empty list if it has none.
    """
    if isinstance(label_texts, str) or not isinstance(label_texts, Sequence | np.ndarray):
        raise DataError(
            "label_texts must be a list, the names of each label, got "
            f"{type(label_texts).__name__}: write [text, ...]"
        )
    names: list[str] = []
    counts = np.zeros(len(label_texts), np.int64)
    for label, text in enumerate(label_texts):
        parts = [text] if isinstance(text, str) else text
        if not isinstance(parts, Sequence) or not all(isinstance(one, str) for one in parts):
            raise DataError(
                f"label_texts[{label}] must be a str, or a list of names, got {text!r:.100}: "
                "an empty one is allowed"
            )
        found = names_of(text)
        counts[label] = len(found)
        names += found
    return names, np.repeat(np.arange(len(label_texts), dtype=np.int32), counts)


def checked_languages(language: Any) -> tuple[str, ...] | None:
    """Return the languages that a setting names; None for "auto"."""
    if language == AUTO:
        return None
    given = (language,) if isinstance(language, str) else tuple(language or ())
    for name in given:
        if name not in LANGUAGES:
            near = suggestion(str(name), [AUTO, *LANGUAGES])
            raise ConfigError(f"language must be one or several that can be stemmed: {near}")
        if len(given) > 1 and name not in DETECTED:
            raise ConfigError(
                f"texts in {name} cannot be told from others: give it alone, or languages of "
                f"{', '.join(DETECTED)}"
            )
    if not given:
        raise ConfigError('language must name at least one language, e.g. "german", or be "auto"')
    return tuple(dict.fromkeys(given))


def shown_languages(texts: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the languages that texts are in, the commonest first; English if none shows.

    If there are no texts, names say it.
    """
    counts = language_counts(texts or names)
    least = (LEAST_SHARE if texts else LEAST_SHARE_OF_NAMES) * sum(counts.values())
    return tuple(name for name, count in counts.most_common() if count >= least) or (FALLBACK,)
