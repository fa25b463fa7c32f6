"""Models of PECOS' text2text: an XR-Linear model with its TF-IDF and the names of its labels.

``preprocessor/<i>.base`` holds a TF-IDF each, their columns side by side: ``tokenizer/vocab.txt``
numbers words (or characters), ``vectorizer/tfidf-model.txt`` has a line for each n-gram of them,
with its column and idf. Vectorizers of scikit-learn are pickles, which are never read here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from multitudes.errors import StoreError
from multitudes.interchange.files import COPY_AGAIN, field, read_bytes, read_json
from multitudes.interchange.pecos_tfidf import L1, L2, PecosTfidf, TermOptions, TermVocabulary
from multitudes.interchange.recognition import PECOS_ENSEMBLE

WORDS, CHARACTERS, CHARACTERS_OF_WORDS = 10, 20, 30
MOST_VOCABULARIES = 100
LONGEST_NGRAM = 1000
LONGEST_NUMBER = 18  # digits, of a count or an id


def ranker_folder(folder: Path) -> Path:
    """Return the folder of the only XR-Linear model of a text2text model."""
    path = folder / PECOS_ENSEMBLE / "config.json"
    members = field(read_json(path), "kwargs", list, path)
    if len(members) != 1:
        raise StoreError(
            f"{folder} is an ensemble of {len(members)} models, expected one: import the folders "
            f"in {path.parent} one by one, over features"
        )
    return path.parent / "0"


def read_output_items(folder: Path) -> list[str]:
    """Return the names of the labels."""
    path = folder / "output_items.json"
    items = read_json(path, list)
    if not all(isinstance(item, str) for item in items):
        raise StoreError(f"{path} must hold a list of str: {COPY_AGAIN}")
    return list(items)


def read_tfidf(folder: Path) -> PecosTfidf:
    """Read a ``preprocessor`` folder."""
    path = folder / "config.json"
    kind = field(read_json(path), "type", str, path)
    if kind != "tfidf":
        raise StoreError(
            f"{folder} is a vectorizer of the type {kind!r}, and only 'tfidf' can be imported: "
            f"import the folder {PECOS_ENSEMBLE}/0 instead, and predict from features that the "
            "vectorizer makes in PECOS"
        )
    path = folder / "meta.json"
    if not path.is_file():  # as older versions wrote it
        vocabulary = _read_vocabulary(folder)
        return PecosTfidf([vocabulary], norm=vocabulary.options.norm)
    settings = field(read_json(path), "kwargs", dict, path)
    n = field(settings, "num_base_vect", int, path)
    norm = {1: L1, 2: L2}.get(field(settings, "norm_p", int, path))
    if not 1 <= n <= MOST_VOCABULARIES or norm is None:
        raise StoreError(f"{path}: 'num_base_vect' or 'norm_p' is out of range: {COPY_AGAIN}")
    return PecosTfidf([_read_vocabulary(folder / f"{i}.base") for i in range(n)], norm=norm)


def _read_vocabulary(folder: Path) -> TermVocabulary:
    options = _read_options(folder)
    tokens = _read_tokens(folder / "tokenizer" / "vocab.txt")
    path = folder / "vectorizer" / "tfidf-model.txt"
    lines = _lines(path)
    terms: list[str | None] = [None] * (len(lines) - 1)
    idf = np.empty(len(terms), np.float32)
    between = "" if options.characters else " "
    for number, line in enumerate(lines[1:], start=2):
        try:
            column, weight, length, ngram = line.split("\t")
            numbers = [tokens[int(token)] for token in ngram.split(" ")]
            if len(numbers) != int(length) or not 0 <= int(column) < len(terms):
                raise ValueError
            if terms[int(column)] is not None:
                raise ValueError
            terms[int(column)], idf[int(column)] = between.join(numbers), float(weight)
        except (ValueError, KeyError):
            raise StoreError(
                f"{path}:{number}: expected a column, an idf, a length and numbers of words, "
                f"got {line[:80]!r}: {COPY_AGAIN}"
            ) from None
    if len(terms) != _count(lines[0]) or not np.isfinite(idf).all():
        raise StoreError(f"{path} does not hold the {lines[0]} terms it says: {COPY_AGAIN}")
    return TermVocabulary(options, tuple(map(str, terms)), idf)


def _read_options(folder: Path) -> TermOptions:
    path = folder / "tokenizer" / "config.json"
    kind = field(read_json(path), "token_type", int, path)
    if kind not in (WORDS, CHARACTERS, CHARACTERS_OF_WORDS):
        raise StoreError(f"{path}: 'token_type' must be 10, 20 or 30, got {kind}: {COPY_AGAIN}")
    path = folder / "vectorizer" / "config.json"
    settings = field(read_json(path), "kwargs", dict, path)
    ngrams = field(settings, "ngram_range", list, path)
    whole = len(ngrams) == 2 and all(type(n) is int for n in ngrams)
    if not whole or not 1 <= ngrams[0] <= ngrams[1] <= LONGEST_NGRAM:
        raise StoreError(f"{path}: 'ngram_range' must be two whole numbers, got {ngrams}")
    norm = field(settings, "norm_p", str, path)
    if norm not in (L1, L2):
        raise StoreError(f"{path}: 'norm_p' must be 'l1' or 'l2', got {norm!r}")
    return TermOptions(
        # Both kinds of characters are read alike once the terms are known.
        characters=kind != WORDS,
        shortest=ngrams[0],
        longest=ngrams[1],
        max_length=field(settings, "max_length", int, path),
        binary=field(settings, "binary", bool, path),
        sublinear_tf=field(settings, "sublinear_tf", bool, path),
        use_idf=field(settings, "use_idf", bool, path),
        norm=norm,
    )


def _read_tokens(path: Path) -> dict[int, str]:
    """Return each number's word or character."""
    lines = _lines(path)
    tokens: dict[int, str] = {}
    for number, line in enumerate(lines[1:], start=2):
        token, tab, word = line.partition("\t")
        if not tab or not token.isdecimal() or len(token) > LONGEST_NUMBER:
            raise StoreError(
                f"{path}:{number}: expected a number, a tab and a word, got {line[:80]!r}: "
                f"{COPY_AGAIN}"
            )
        tokens[int(token)] = word
    if len(tokens) != _count(lines[0]):
        raise StoreError(f"{path} does not hold the {lines[0]} words it says: {COPY_AGAIN}")
    return tokens


def _lines(path: Path) -> list[str]:
    """Return the lines of a text file; only a line feed ends one, words may hold other breaks."""
    try:
        lines = read_bytes(path).decode().split("\n")
    except UnicodeDecodeError as error:
        raise StoreError(f"{path} is not valid UTF-8 ({error}): {COPY_AGAIN}") from error
    if lines.pop():
        raise StoreError(f"{path} was cut short, its last line has no end: {COPY_AGAIN}")
    return lines or [""]


def _count(line: str) -> Any:
    return int(line) if line.isdecimal() and len(line) <= LONGEST_NUMBER else None
