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
PLANES = 4  # of Unicode that have letters and spaces


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
            buffer = encoded(chunk, lowercase=lowercase, strip_accents=strip_accents)
        except TypeError:
            raise not_a_text(chunk, first_index + start) from None
        yield stop - start, buffer
        start = stop


def encoded(texts: Sequence[str], *, lowercase: bool, strip_accents: bool) -> npt.NDArray[np.uint8]:
    """Texts, normalized, as UTF-8, each ended by a zero byte (n_bytes,).

    Text by text: most are ASCII, which Python reads many times as fast as the others, and a single
    wide character would widen all that it is joined with.
    """
    parts = [_normalized(text, lowercase, strip_accents) for text in texts]
    # Writable, as other bytes of terms are: kernels would be compiled once more for a constant.
    buffer = bytearray(b"\0").join([*parts, b""])
    if buffer.count(0) != len(texts):
        without = [text.replace(END, " ") for text in texts]
        return encoded(without, lowercase=lowercase, strip_accents=strip_accents)
    return np.frombuffer(buffer, np.uint8)


def _normalized(text: str, lowercase: bool, strip_accents: bool) -> bytes:
    """Return a text as UTF-8; a TypeError if it is none.

    Letters are composed first (NFC), so that "u" with a combining diaeresis is the word character
    "ü" and not two pieces.
    """
    if str.isascii(text):
        return text.encode().lower() if lowercase else text.encode()
    text = unicodedata.normalize("NFC", text)
    if lowercase:
        text = text.lower()
    if strip_accents:
        text = without_accents(text)
    return text.encode("utf-8", "replace")  # of half a surrogate pair: "?" keeps neighbors apart


def without_accents(text: str) -> str:
    """Drop combining marks: "Zürich" becomes "Zurich"; letters of their own, like "ß", stay."""
    parts = unicodedata.normalize("NFKD", text)
    return "".join([c for c in parts if not unicodedata.combining(c)])


@functools.cache
def character_classes() -> npt.NDArray[np.uint8]:
    """Return the class of each code point: word character, white space, or 0 for neither."""
    # Beyond the first four planes no letter or space is assigned; all 17 take four times as long.
    points = np.arange(PLANES << 16, dtype="<u4")  # a string for each would take 80 MB
    everything = points.tobytes().decode("utf-32-le", "surrogatepass")
    classes = np.zeros(sys.maxunicode + 1, np.uint8)
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
