"""Take labels out of a problem as if nobody had heard of them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from benchmarks.prime.problem import Problem
from multitudes.deep.texts.tokens import TokenRows


@dataclass(frozen=True)
class HoldOut:
    """A problem without some labels, and the same problem with these labels alone.

    Parameters
    ----------
    seen : Problem
        All test instances; training instances that still have a label.
    unseen : Problem
        All instances of both splits; the labels that were taken out.
    """

    seen: Problem
    unseen: Problem

    def examples(self, n: int, *, random_state: int) -> list[TokenRows]:
        """Up to `n` training texts of each unseen label; with a larger `n` there are others too."""
        rng = np.random.default_rng(random_state)
        by_label = self.unseen.Y.tocsc()
        drawn = []
        for start, end in zip(by_label.indptr[:-1], by_label.indptr[1:], strict=True):
            rows = rng.permutation(by_label.indices[start:end])[:n]
            drawn.append(self.unseen.train.take(rows.astype(np.int64)))
        return drawn

    def sizes(self) -> dict[str, int]:
        """Labels and instances of both kinds."""
        n_instances = np.bincount(self.unseen.Y.indices, minlength=len(self.unseen.labels))
        return {
            "seen labels": len(self.seen.labels),
            "unseen labels": len(self.unseen.labels),
            "unseen labels without examples": int(np.count_nonzero(n_instances == 0)),
            "training instances": len(self.seen.train),
            "test instances with an unseen label": int(
                np.count_nonzero(np.diff(self.unseen.Y_test.indptr))
            ),
        }


def hold_out(problem: Problem, part: float, *, random_state: int) -> HoldOut:
    """Take a random part of the labels out; training instances left without a label go too."""
    order = np.random.default_rng(random_state).permutation(len(problem.labels))
    n_unseen = max(1, round(part * len(order)))
    seen = with_labels(problem, np.sort(order[n_unseen:]))
    rows = np.flatnonzero(np.diff(seen.Y.indptr))
    seen = dataclasses.replace(seen, train=seen.train.take(rows), Y=seen.Y[rows])
    return HoldOut(seen, with_labels(problem, np.sort(order[:n_unseen])))


def with_labels(problem: Problem, kept: np.ndarray) -> Problem:
    """The problem with some of its labels, which get new numbers; training pairs are left out."""
    number = np.full(len(problem.labels), -1)
    number[kept] = np.arange(len(kept))
    pairs = problem.test_pairs
    pairs = np.stack([pairs[:, 0], number[pairs[:, 1]]], axis=1)
    return dataclasses.replace(
        problem,
        labels=problem.labels.take(kept),
        Y=problem.Y[:, kept],
        Y_test=problem.Y_test[:, kept],
        pairs=problem.pairs[:0],
        test_pairs=pairs[pairs[:, 1] >= 0],
    )
