"""Which of some languages a text is in, by the function words in it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from multitudes.errors import ConfigError
from multitudes.features.languages import DETECTED, function_words

CODES = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque",
    "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "hbs": "serbian",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "nb": "norwegian", "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "tr": "turkish",
}  # fmt: skip
MAX_CHARACTERS = 100_000  # that are looked at: more would not change the answer
MISSED = 0.1  # how likely a function word is that the text's language does not have
UNASKED = 0.1  # how likely a language is that was not asked for, beside one that was
FloatArray = npt.NDArray[np.float64]

_WORD = re.compile(r"[^\W\d_]+")


def detected(text: str, languages: Sequence[str]) -> list[tuple[str | None, float]]:
    """Return the probability of each language, the likeliest first; None is none of them.

    Each function word of any language speaks against those that do not have it.
    """
    places = {code: _place(code) for code in dict.fromkeys(map(str.lower, languages))}
    misses, n_words = _misses(text[:MAX_CHARACTERS].lower())
    if not n_words:
        return [(None, 1.0), *((code, 0.0) for code in places)]
    prior = np.full(len(DETECTED), UNASKED)
    prior[list(places.values())] = 1
    weights = prior * MISSED ** (misses - misses.min())
    shares = weights / weights.sum()
    asked = {code: float(shares[place]) for code, place in places.items()}
    rest = max(0.0, 1 - sum(asked.values()))
    return sorted([*asked.items(), (None, rest)], key=lambda one: -one[1])


def _place(code: str) -> int:
    if code not in CODES:
        raise ConfigError(
            f"the language {code!r} cannot be detected: known are {', '.join(sorted(CODES))}"
        )
    return DETECTED.index(CODES[code])


def _misses(text: str) -> tuple[FloatArray, int]:
    """Return how many of a text's function words each language does not have, and how many all."""
    known = function_words()
    bits = [known[word] for word in map(str.encode, _WORD.findall(text)) if word in known]
    has = np.array(bits, np.uint64)[:, None] >> np.arange(len(DETECTED), dtype=np.uint64) & 1
    return len(bits) - has.sum(axis=0, dtype=np.float64), len(bits)
