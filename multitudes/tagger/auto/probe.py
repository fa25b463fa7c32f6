"""The probe: how fast this machine is now, by a training that takes a moment."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from multitudes.disentangle import Disentangled
from multitudes.features import TfidfFeatures
from multitudes.fusion import CalibratedFusion, LearnedFusion, RankFusion
from multitudes.lexical import Lexical
from multitudes.linear import OneVsAll, XRLinear
from multitudes.tagger.costs.estimates import PROBE_SECONDS
from multitudes.types import Sparse

REPEATS = 3
# As much as threads can share: of a smaller one most is what one thread does alone.
N_INSTANCES, N_FEATURES, N_LABELS, N_WORDS = 10_000, 5_000, 1_000, 20


def pace_here(n_jobs: int | None, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds that a CPU second of the machine of `SECONDS` takes here.

    With several threads it is less than 1, and more on a machine that others are using too. Call
    `load_compiled` first.
    """
    X, Y = problem()
    seconds = []
    for _ in range(REPEATS):
        started = clock()
        train(X, Y, n_jobs)
        seconds.append(clock() - started)
    return max(sorted(seconds)[REPEATS // 2] / PROBE_SECONDS, 1e-3)


def load_compiled(n_jobs: int | None, *, fusing: bool) -> None:
    """Use what members are made of: at the very first use on a machine that is compiled.

    Parameters
    ----------
    n_jobs : int or None
    fusing : bool
        Whether there may be several members, and their fusion.
    """
    X, Y = (one[:50] for one in problem())
    words = [f"text number {row} of some words" for row in range(X.shape[0])]
    TfidfFeatures(n_jobs=n_jobs).fit_transform(words)
    tree = XRLinear(n_jobs=n_jobs, max_leaf_size=20, branching=4)
    found = Disentangled(tree).fit(X, Y).predict(X, top_k=5)
    train(X, Y, n_jobs)
    if not fusing:
        return
    TfidfFeatures(char_ngrams=(4, 4), n_jobs=n_jobs).fit_transform(words)
    OneVsAll(n_jobs=n_jobs).fit(X, Y).predict(X, top_k=5)
    names = [f"number {label}" for label in range(Y.shape[1])]
    Lexical(n_jobs=n_jobs).fit(words, Y, label_texts=names).predict(words, top_k=5)
    for fusion in (RankFusion(), CalibratedFusion(), LearnedFusion()):
        fusion.fit([found, found], Y).fuse([found, found], top_k=5)


def train(X: Sparse, Y: Sparse, n_jobs: int | None) -> None:
    """Train the tree of the probe."""
    XRLinear(n_jobs=n_jobs).fit(X, Y)


def problem() -> tuple[Sparse, Sparse]:
    """Return X and Y, always the same: rows of random words, two of which name the labels."""
    rng = np.random.default_rng(0)
    words = rng.integers(0, N_FEATURES, (N_INSTANCES, N_WORDS))
    labels = words[:, :3] % N_LABELS
    rows = np.repeat(np.arange(N_INSTANCES), N_WORDS)
    values = np.full(rows.size, N_WORDS**-0.5, np.float32)
    X = sp.csr_array((values, (rows, words.ravel())), shape=(N_INSTANCES, N_FEATURES))
    named = np.repeat(np.arange(N_INSTANCES), labels.shape[1])
    Y = sp.csr_array(
        (np.ones(named.size, np.float32), (named, labels.ravel())), shape=(N_INSTANCES, N_LABELS)
    )
    Y.data[:] = 1
    return X, Y
