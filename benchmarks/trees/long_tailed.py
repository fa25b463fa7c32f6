"""Generated problems with long tails of labels and words, of any size, that can be learned.

Labels belong to topics, and each has words of its own and words of its topic. An instance is
about one main label; others come from its topic and from all labels, where the r-th most
popular is drawn in proportion to 1 / (r + 10). Its words are drawn from those of its labels, from
its topic, and from all words with the same kind of tail. Every label is the main one of at least
one training instance.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from benchmarks.trees.data import unit_rows

Ints = npt.NDArray[np.int64]

LABELS_PER_TOPIC = 50
WORDS_OF_TOPIC = 30
WORDS_OF_LABEL = 6
DRAWS_PER_LABEL = 5
DRAWS_FROM_TOPIC = 5
DRAWS_FROM_ALL = 8
TAIL_START = 10


@dataclass(frozen=True, eq=False)
class World:
    """Which topic a label belongs to, and which words tell of both."""

    topic_of_label: Ints  # (n_labels,)
    labels_by_topic: Ints  # (n_labels,), topic by topic
    topic_start: Ints  # (n_topics + 1,), into labels_by_topic
    topic_words: Ints  # (n_topics, WORDS_OF_TOPIC)
    label_words: Ints  # (n_labels, WORDS_OF_LABEL)
    n_words: int


def long_tailed(
    n_labels: int, *, n_test: int = 5_000, random_state: int = 0
) -> tuple[Any, Any, Any, Any]:
    """X, Y, X_test and Y_test, with as many training instances as labels.

    Returns
    -------
    four CSR arrays, float32
        About 3 labels and 20 to 30 words an instance; X is TF-IDF in rows of length 1.
    """
    rng = np.random.default_rng(random_state)
    world = make_world(n_labels, rng)
    popularity = rng.permutation(n_labels)
    main = np.concatenate([rng.permutation(n_labels), popularity[tail(rng, n_labels, n_test)]])
    rows, labels = draw_labels(world, main, popularity, rng)
    Y = counted(rows, labels, (len(main), n_labels))
    Y.data[:] = 1
    X = weighted(draw_words(world, main, rows, labels, rng), n_fit=n_labels)
    return X[:n_labels], Y[:n_labels], X[n_labels:], Y[n_labels:]


def make_world(n_labels: int, rng: np.random.Generator) -> World:
    """Deal labels to topics, and words to both; half of a label's words are its topic's."""
    n_words = max(1_000, n_labels // 2)
    n_topics = max(2, n_labels // LABELS_PER_TOPIC)
    topic_of_label = rng.integers(0, n_topics, n_labels)
    topic_words = rng.integers(0, n_words, (n_topics, WORDS_OF_TOPIC))
    own = rng.integers(0, n_words, (n_labels, WORDS_OF_LABEL // 2))
    picks = rng.integers(0, WORDS_OF_TOPIC, (n_labels, WORDS_OF_LABEL - WORDS_OF_LABEL // 2))
    return World(
        topic_of_label=topic_of_label,
        labels_by_topic=np.argsort(topic_of_label, kind="stable"),
        topic_start=np.concatenate(
            [[0], np.cumsum(np.bincount(topic_of_label, minlength=n_topics))]
        ),
        topic_words=topic_words,
        label_words=np.concatenate([own, topic_words[topic_of_label[:, None], picks]], axis=1),
        n_words=n_words,
    )


def tail(rng: np.random.Generator, n: int, size: int) -> Ints:
    """Ranks below n, each drawn in proportion to 1 / (rank + TAIL_START)."""
    # The continuous law, cut into whole numbers: no table of n probabilities to search.
    spread = np.log1p(n / TAIL_START)
    ranks = TAIL_START * np.expm1(rng.random(size) * spread)
    return np.minimum(ranks.astype(np.int64), n - 1)


def draw_labels(
    world: World, main: Ints, popularity: Ints, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """(row, label) pairs: the main label, some of its topic, some of all; repeats are possible."""
    everyone = np.arange(len(main))
    near_rows = np.repeat(everyone, rng.poisson(1.0, len(main)))
    topic = world.topic_of_label[main[near_rows]]
    start = world.topic_start[topic]
    size = world.topic_start[topic + 1] - start
    near = world.labels_by_topic[start + (rng.random(len(topic)) * size).astype(np.int64)]
    far_rows = np.repeat(everyone, rng.poisson(1.0, len(main)))
    far = popularity[tail(rng, len(popularity), len(far_rows))]
    return np.concatenate([everyone, near_rows, far_rows]), np.concatenate([main, near, far])


def draw_words(world: World, main: Ints, rows: Ints, labels: Ints, rng: np.random.Generator) -> Any:
    """Word counts (n_instances, n_words)."""
    everyone = np.arange(len(main))

    def parts() -> Iterable[tuple[Ints, Ints]]:
        picks = rng.integers(0, WORDS_OF_LABEL, (len(labels), DRAWS_PER_LABEL))
        yield np.repeat(rows, DRAWS_PER_LABEL), world.label_words[labels[:, None], picks].ravel()
        picks = rng.integers(0, WORDS_OF_TOPIC, (len(main), DRAWS_FROM_TOPIC))
        topics = world.topic_of_label[main]
        yield (
            np.repeat(everyone, DRAWS_FROM_TOPIC),
            world.topic_words[topics[:, None], picks].ravel(),
        )
        size = len(main) * DRAWS_FROM_ALL
        yield np.repeat(everyone, DRAWS_FROM_ALL), tail(rng, world.n_words, size)

    word_rows, words = map(np.concatenate, zip(*parts(), strict=True))
    return counted(word_rows, words, (len(main), world.n_words))


def counted(rows: Ints, columns: Ints, shape: tuple[int, int]) -> Any:
    """How often each pair occurs, as float32 CSR with sorted indices."""
    ones = np.ones(len(rows), np.float32)
    pairs = (rows.astype(np.int32), columns.astype(np.int32))
    matrix = sp.csr_array((ones, pairs), shape=shape)
    matrix.sort_indices()
    return matrix


def weighted(counts: Any, n_fit: int) -> Any:
    """Sublinear TF-IDF in rows of length 1; document frequencies are those of the first rows."""
    known = counts.indices[: counts.indptr[n_fit]]
    frequency = np.bincount(known, minlength=counts.shape[1])
    idf = (np.log((1 + n_fit) / (1 + frequency)) + 1).astype(np.float32)
    counts.data = (1 + np.log(counts.data)) * idf[counts.indices]
    return unit_rows(counts)
