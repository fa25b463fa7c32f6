"""Where word and label embeddings start: from a file of vectors, or at random."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multitudes import memory
from multitudes.seq2set.words.vocabulary import (
    N_SPECIAL,
    PADDING,
    WordsConfig,
    WordVocabulary,
    split_words,
)
from multitudes.seq2set.words.word_vectors import read_word_vectors
from multitudes.types import FloatArray

DEFAULT_DIM = 300
RANGE = 0.1
"""Random vectors are uniform from -RANGE to RANGE, as all weights of the released code."""


@dataclass(frozen=True)
class StartVectors:
    """Embeddings before training.

    Parameters
    ----------
    words : float32 array (n_ids, d)
        A row for each id of the vocabulary; padding is zero.
    labels : float32 array (n_labels, d)
    n_words_found : int
        Words of the vocabulary that the file knows.
    n_labels_found : int
        Labels that have the mean of their words' vectors.
    """

    words: FloatArray
    labels: FloatArray
    n_words_found: int
    n_labels_found: int


def start_vectors(
    vocabulary: WordVocabulary,
    label_texts: Sequence[str] | None,
    *,
    n_labels: int,
    config: WordsConfig,
    random_state: int,
) -> StartVectors:
    """Vectors of words, and of labels from their words.

    Words that only label texts have get a vector from the file too, for the labels' sake. Without
    a file, words start at random, and labels that share words start near each other.
    """
    rng = np.random.default_rng(random_state)
    listed: list[list[str]] = [[] for _ in range(n_labels)]
    if label_texts is not None and config.label_embeddings == "words":
        listed = list(split_words(label_texts, lowercase=vocabulary.lowercase))
    beyond = {word for words in listed for word in words if word not in vocabulary.ids}
    words = [*vocabulary.words, *sorted(beyond)]
    vectors, known = _word_vectors(words, config, rng)
    memory.ask(
        12 * n_labels * vectors.shape[1],
        f"vectors of dim={vectors.shape[1]:,} for {n_labels:,} labels",
    )
    labels = rng.uniform(-RANGE, RANGE, (n_labels, vectors.shape[1])).astype(np.float32)
    place = {word: i for i, word in enumerate(words)}
    n_found = 0
    for label, of_label in enumerate(listed):
        rows = [place[word] for word in of_label if known[place[word]]]
        if rows:
            labels[label] = vectors[rows].mean(axis=0)
            n_found += 1
    n_words = len(vocabulary.words)
    special = rng.uniform(-RANGE, RANGE, (N_SPECIAL, vectors.shape[1])).astype(np.float32)
    special[PADDING] = 0
    start = np.concatenate([special, vectors[:n_words]])
    found = int(known[:n_words].sum()) if config.vectors is not None else 0
    if config.vectors is not None and not found:
        warnings.warn(
            f"{config.vectors} has none of the {n_words:,} words of the training texts, which all "
            "start from random vectors: is it of another language, or are its words written "
            "another way?",
            stacklevel=2,
        )
    return StartVectors(start, labels, found, n_found)


def _word_vectors(
    words: Sequence[str], config: WordsConfig, rng: np.random.Generator
) -> tuple[FloatArray, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Vectors (n_words, d), random ones where the file has none, and which may name a label."""
    if config.vectors is None:
        dim = config.dim or DEFAULT_DIM
        memory.ask(12 * len(words) * dim, f"vectors of dim={dim:,} for {len(words):,} words")
        vectors = rng.uniform(-RANGE, RANGE, (len(words), dim)).astype(np.float32)
        return vectors, np.ones(len(words), bool)
    found = read_word_vectors(config.vectors, words, dim=config.dim)
    memory.ask(5 * found.vectors.nbytes, f"vectors of {config.vectors} for {len(words):,} words")
    random = rng.uniform(-RANGE, RANGE, found.vectors.shape).astype(np.float32)
    return np.where(found.known[:, None], found.vectors, random), found.known
