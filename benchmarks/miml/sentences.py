"""Descriptions of Debian packages as bags of sentences: what Yelp's reviews are in section 7.3.

The paper trains on reviews of four sentences, with the tags of the restaurant, and validates and
tests on single sentences. Here a bag is a package's synopsis and the first three sentences of its
description, its labels are the package's tags, and validation and test are synopses of other
packages. The ten labels are the most frequent tags of the facets ``use`` and ``works-with``: what a
package is for.

Features are 512 numbers for a sentence, of length 1: word TF-IDF reduced by a singular value
decomposition, both learned from the training packages that have one of the ten tags.
"""

from __future__ import annotations

import json
import lzma
import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.miml.problem import Part, Problem
from multitudes.types import FloatArray, IntArray

FACETS = ("use::", "works-with::")
N_LABELS, N_SENTENCES, N_FEATURES = 10, 4, 512
VALIDATION_SHARE = 0.2
ENDS = re.compile(r"(?<=[.!?])\s+|\s{2,}|\s\*\s")
SHORTEST = 3  # words; less is a heading, or what is left of a list


class Packages(NamedTuple):
    """Packages with one of the ten tags.

    Parameters
    ----------
    names : list of str
    sentences : list of array
        Features of up to four sentences of each, the synopsis first.
    Y : CSR (n_packages, 10)
    """

    names: list[str]
    sentences: list[FloatArray]
    Y: sp.csr_array[Any]


def sentences_of(package: Mapping[str, Any]) -> list[str]:
    """The synopsis without the package's name, and the first three sentences of the description."""
    synopsis = package["title"].partition(" - ")[2] or package["title"]
    parts = [part.strip() for part in ENDS.split(package["content"])]
    return [synopsis, *(part for part in parts if len(part.split()) >= SHORTEST)][:N_SENTENCES]


def divided(source: Path, random_state: int) -> Problem:
    """Hold out a fifth of the training packages at random to validate on.

    Names that begin with the same six letters stay together: they are often of one source.
    """
    train, test = packages(source)
    stems = np.unique([name[:6] for name in train.names], return_inverse=True)[1]
    rng = np.random.default_rng(random_state)
    held_out = (rng.random(stems.max() + 1) < VALIDATION_SHARE)[stems]
    is_bag = np.array([len(one) == N_SENTENCES for one in train.sentences])
    return Problem(
        bags(train, np.flatnonzero(is_bag & ~held_out)),
        synopses(train, np.flatnonzero(held_out)),
        synopses(test, np.arange(len(test.names))),
        bags(test, np.flatnonzero([len(one) == N_SENTENCES for one in test.sentences])),
    )


def bags(given: Packages, rows: IntArray) -> Part:
    """Bags of four sentences."""
    X = np.concatenate([given.sentences[row] for row in rows])
    own = np.repeat(np.arange(len(rows)), N_SENTENCES)
    ones = np.ones(len(X), np.float32)
    groups = sp.csr_array((ones, (np.arange(len(X)), own)), shape=(len(X), len(rows)))
    return Part(X, given.Y[rows], groups)


def synopses(given: Packages, rows: IntArray) -> Part:
    """Single sentences."""
    return Part(np.stack([given.sentences[row][0] for row in rows]), given.Y[rows])


@lru_cache(maxsize=1)
def packages(source: Path) -> tuple[Packages, Packages]:
    """Training and test packages, read once by a process."""
    from sklearn.decomposition import TruncatedSVD

    from multitudes.features import TfidfFeatures

    training, test = records(source / "trn.jsonl.xz"), records(source / "tst.jsonl.xz")
    chosen = frequent(training, [one["title"] for one in records(source / "lbl.jsonl.xz")])
    training = [one for one in training if chosen & set(one["labels"])]
    test = [one for one in test if chosen & set(one["labels"])]
    texts = [sentence for one in training for sentence in sentences_of(one)]
    words = TfidfFeatures(n_jobs=1).fit(texts)
    reduced = TruncatedSVD(N_FEATURES, random_state=0).fit(words.transform(texts))

    def with_features(given: list[dict[str, Any]]) -> Packages:
        found = [sentences_of(one) for one in given]
        X = reduced.transform(words.transform([text for one in found for text in one]))
        lengths = np.linalg.norm(X, axis=1, keepdims=True)
        X = (X / np.maximum(lengths, 1e-9)).astype(np.float32)
        places = np.cumsum([len(one) for one in found])[:-1]
        Y = np.array([[label in one["labels"] for label in sorted(chosen)] for one in given])
        names = [one["uid"] for one in given]
        return Packages(names, np.split(X, places), sp.csr_array(Y.astype(np.float32)))

    return with_features(training), with_features(test)


def records(path: Path) -> list[dict[str, Any]]:
    """A line each, title and content apart."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def frequent(training: list[dict[str, Any]], names: list[str]) -> set[int]:
    """The ids of the ten most frequent tags of the facets."""
    counts = Counter(label for one in training for label in one["labels"])
    topical = [label for label, name in enumerate(names) if name.startswith(FACETS)]
    return set(sorted(topical, key=lambda label: -counts[label])[:N_LABELS])
