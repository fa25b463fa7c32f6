"""Where the terms of features are in a text, as it was given: to show them in it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from multitudes.features.concat import ConcatFeatures
from multitudes.features.languages import DETECTED
from multitudes.features.stemming import AUTO, distinct_words, languages_of, stemmer
from multitudes.features.term_counts import TermSource
from multitudes.features.text_buffer import TOKEN_PATTERN, text_chunks, without_accents
from multitudes.features.tfidf import TfidfFeatures

CHARACTERS = "char:"  # how features call character n-grams
MOST_SPANS = 1000  # of one term: nobody looks at more
MOST_CHARACTERS = 100_000  # of a text that are looked at, a third of a second's work
_TOKEN = re.compile(TOKEN_PATTERN)
_RUN = re.compile(r"\S+")

Spans = dict[str, list[tuple[int, int]]]


class Piece(NamedTuple):
    """A run of characters of a text as features read it, and where each of them stands there.

    Attributes
    ----------
    text : str
        Composed, in small letters and so on.
    starts, ends : sequences of int
        Of each of its characters, in the text as it was given.
    """

    text: str
    starts: Any
    ends: Any


def term_spans(text: str, features: Any, terms: Collection[str]) -> Spans:
    """Return where terms of fitted features stand in a text, as (start, end) in characters.

    Parameters
    ----------
    text : str
    features : fitted features
        Those that are made of other things than words and parts of words have no places.
    terms : collection of str
        As in ``features.feature_names``.

    Returns
    -------
    dict of str to list of (int, int)
        In the order of the text, at most `MOST_SPANS` of each term and in the first
        `MOST_CHARACTERS` characters; without terms that are not found.
    """
    found: Spans = {}
    if not terms:
        return found
    text = _beginning(text)
    if isinstance(features, ConcatFeatures):
        for block in features.blocks_:
            found |= term_spans(text, block, terms)
    elif isinstance(features, TfidfFeatures):
        for source in features.config_.sources(features.language_):
            find = _word_spans if source.words else _character_spans
            for term, span in find(text, source, set(terms)):
                known = found.setdefault(term, [])
                if len(known) < MOST_SPANS:
                    known.append(span)
    return found


def _beginning(text: str) -> str:
    """Return as much of a text as is looked at, cut between words if possible."""
    if len(text) <= MOST_CHARACTERS:
        return text
    cut = text[:MOST_CHARACTERS]
    return cut[: cut.rfind(" ") + 1] or cut


def pieces_of(text: str, *, lowercase: bool, strip_accents: bool) -> Iterator[Piece]:
    """Yield the runs of a text without white space, as `text_buffer.encoded` reads them."""
    for run in _RUN.finditer(text):
        given, start = run.group().replace("\0", " "), run.start()
        if given.isascii():
            places = range(start, run.end() + 1)
            yield Piece(given.lower() if lowercase else given, places[:-1], places[1:])
        else:
            yield _mapped(given, start, lowercase=lowercase, strip_accents=strip_accents)


def _mapped(given: str, start: int, *, lowercase: bool, strip_accents: bool) -> Piece:
    """Return a run whose characters may have changed their number."""
    whole = _prepared(given, lowercase=lowercase, strip_accents=strip_accents)
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    while at < len(given):
        end = at + 1
        while end < len(given) and unicodedata.combining(given[end]):
            end += 1  # a letter and its marks are read together
        n = len(_prepared(given[at:end], lowercase=lowercase, strip_accents=strip_accents))
        starts += [start + at] * n
        ends += [start + end] * n
        at = end
    if len(starts) != len(whole):  # letters that only compose with their neighbors
        starts, ends = [start] * len(whole), [start + len(given)] * len(whole)
    return Piece(whole, starts, ends)


def _prepared(text: str, *, lowercase: bool, strip_accents: bool) -> str:
    text = unicodedata.normalize("NFC", text)
    text = text.lower() if lowercase else text
    return without_accents(text) if strip_accents else text


def _word_spans(
    text: str, source: TermSource, terms: set[str]
) -> Iterator[tuple[str, tuple[int, int]]]:
    # Stemmers need the accents of words.
    strip = source.strip_accents and source.stem is None
    words: list[tuple[str, int, int]] = []
    for piece in pieces_of(text, lowercase=source.lowercase, strip_accents=strip):
        for token in _TOKEN.finditer(piece.text):
            first, last = token.span()
            words.append((token.group(), piece.starts[first], piece.ends[last - 1]))
    if source.stem is not None:
        stem = stemmer(_language(text, source), strip_accents=source.strip_accents)
        words = [(stem(word.encode()).decode(), first, last) for word, first, last in words]
    lengths = {term.count(" ") + 1 for term in terms if not term.startswith(CHARACTERS)}
    shortest, longest = source.ngrams
    lengths &= set(range(shortest, longest + 1))
    for at in range(len(words)):
        for n in lengths:
            some = words[at : at + n]
            term = " ".join(word for word, _, _ in some)
            if len(some) == n and term in terms:
                yield term, (some[0][1], some[-1][2])


def _language(text: str, source: TermSource) -> str:
    """Return the language whose stems are read from a text."""
    assert source.stem is not None  # the caller has looked
    if source.stem != AUTO:
        return source.stem
    for _, buffer in text_chunks([text], lowercase=True, strip_accents=False):
        words, indptr, ids = distinct_words(buffer, 1)
        return DETECTED[int(languages_of(words, indptr, ids, source.language)[0])]
    return source.language


def _character_spans(
    text: str, source: TermSource, terms: set[str]
) -> Iterator[tuple[str, tuple[int, int]]]:
    wanted = {term.removeprefix(CHARACTERS) for term in terms if term.startswith(CHARACTERS)}
    lengths = {len(term) for term in wanted}
    shortest, longest = source.ngrams
    for piece in pieces_of(text, lowercase=source.lowercase, strip_accents=source.strip_accents):
        padded, last = f" {piece.text} ", len(piece.text) - 1
        # A word not longer than n counts whole: its n-gram may be shorter than the shortest.
        for n in lengths & {*range(shortest, longest + 1), len(padded)}:
            for at in range(len(padded) - n + 1):
                term = padded[at : at + n]
                if term in wanted and last >= 0:
                    first, final = max(at - 1, 0), min(at + n - 2, last)
                    yield CHARACTERS + term, (piece.starts[first], piece.ends[final])
