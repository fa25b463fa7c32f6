"""Texts as the kernels read them: one UTF-8 buffer, each text ended by a zero byte."""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.errors import DataError
from multitudes.files.texts import StoredTexts
from multitudes.kernels.text.terms import SPACE_CHAR, WORD_CHAR
from multitudes.scikit_learn import BaseEstimator, TransformerMixin

TOKEN_PATTERN = r"\w+(?:\+\+|\#)?"
"""What a word is: a run of letters, digits and underscores of any script, with ``++`` or ``#``."""

CHUNK_CHARACTERS = 1 << 18  # small enough for the kernels' scratch arrays to stay in cache
END = "\0"


class TextTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of features that are made of texts, as scikit-learn's tags say it."""

    def __sklearn_tags__(self) -> Any:
        """Return the tags: one-dimensional input of strings, output of float32."""
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def as_texts(texts: Iterable[str]) -> Sequence[str]:
    """Return the texts as a sequence; refuse a lone string, which would be read letter by letter.

    Elements are not looked at here: `text_chunks` does that when it reads them.
    """
    if isinstance(texts, str | bytes):
        raise DataError(
            f"expected a sequence of texts, got the single {type(texts).__name__} "
            f"{_shortened(texts)}: wrap it in a list"
        )
    if isinstance(texts, list | tuple | StoredTexts):
        return texts
    if getattr(texts, "ndim", 1) != 1 or not isinstance(texts, Iterable):
        raise DataError(
            f"expected a sequence of texts, got {type(texts).__name__}"
            f"{getattr(texts, 'shape', '')}: pass a list of str, one per instance"
        )
    return list(texts)


def text_chunks(
    texts: Sequence[str], *, lowercase: bool, strip_accents: bool, first_index: int = 0
) -> Iterator[tuple[int, npt.NDArray[np.uint8]]]:
    """Yield (number of texts, buffer) for some hundred thousand characters at a time."""
    try:
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    except TypeError:
        raise not_a_text(texts, first_index) from None
    ends = np.cumsum(lengths)
    start = 0
    while start < len(texts):
        done = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, done + CHUNK_CHARACTERS, side="right"))
        stop = max(stop, start + 1)
        chunk = texts[start:stop]
        try:
            joined = END.join(chunk)
        except TypeError:
            raise not_a_text(chunk, first_index + start) from None
        if joined.count(END) != len(chunk) - 1:
            joined = END.join([text.replace(END, " ") for text in chunk])
        yield stop - start, encoded(joined, lowercase=lowercase, strip_accents=strip_accents)
        start = stop


def encoded(joined: str, *, lowercase: bool, strip_accents: bool) -> npt.NDArray[np.uint8]:
    """Texts joined by zero characters, normalized, as zero-ended UTF-8 (n_bytes,).

    Letters are composed first (NFC), so that "u" with a combining diaeresis is the word character
    "ü" and not two pieces. None of the steps looks across a zero character.
    """
    if not joined.isascii():
        # Text by text: a short one that is composed already, as nearly all are, costs nothing.
        joined = END.join([unicodedata.normalize("NFC", text) for text in joined.split(END)])
        if lowercase:
            joined = joined.lower()
        if strip_accents:
            joined = without_accents(joined)
    elif lowercase:
        joined = joined.lower()
    # A lone surrogate is not a character; "?" keeps its neighbors apart.
    # Writable, as other bytes of terms are: kernels would be compiled once more for a constant.
    return np.frombuffer(bytearray((joined + END).encode("utf-8", "replace")), np.uint8)


def without_accents(text: str) -> str:
    """Drop combining marks: "Zürich" becomes "Zurich"; letters of their own, like "ß", stay."""
    parts = unicodedata.normalize("NFKD", text)
    return "".join([c for c in parts if not unicodedata.combining(c)])


@functools.cache
def character_classes() -> npt.NDArray[np.uint8]:
    """Return the class of each code point: word character, white space, or 0 for neither."""
    points = np.arange(sys.maxunicode + 1, dtype="<u4")  # a string for each would take 80 MB
    everything = points.tobytes().decode("utf-32-le", "surrogatepass")
    classes = np.zeros(len(everything), np.uint8)
    for pattern, kind in ((r"\w+", WORD_CHAR), (r"\s+", SPACE_CHAR)):
        for match in re.finditer(pattern, everything):
            classes[match.start() : match.end()] = kind
    return classes


def not_a_text(texts: Sequence[object], first_index: int) -> DataError:
    """Return the error that names the first of `texts` that is not a string."""
    index, value = next((i, text) for i, text in enumerate(texts) if not isinstance(text, str))
    return DataError(
        f"text {first_index + index} is not a string but {type(value).__name__}: "
        f"{_shortened(value)}; texts must be str (an empty one is allowed): "
        "leave the instance out, or pass ''"
    )


def _shortened(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
