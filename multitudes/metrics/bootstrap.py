"""Confidence intervals: what the metrics would have been on other samples of instances.

Instances are drawn with replacement. A metric is a ratio of two sums over instances, and both are
taken over the same draw, so the interval of PSP@k accounts for its denominator as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from multitudes.config import Config, setting
from multitudes.metrics.matches import Values
from multitudes.metrics.terms import Columns, Term
from multitudes.progress import track

NUMBERS_IN_MEMORY = 16_000_000  # counts held at once, 8 bytes each


@dataclass(frozen=True)
class Resampling(Config):
    """How confidence intervals and tests draw their samples."""

    n_resamples: int = setting(
        1000, "Samples drawn; more make the ends steadier.", at_least=1, at_most=1_000_000
    )
    confidence: float = setting(
        0.95, "Share of the samples that lie inside the interval.", above=0, at_most=1
    )
    random_state: int = setting(0, "Same seed, same samples.", at_least=0)


def bootstrap_values(terms: Mapping[str, Term], resampling: Resampling) -> Values:
    """Return each metric on each sample of instances, (n_resamples, n_terms)."""
    columns = Columns.of(terms)
    n = len(columns.matrix)
    sums = [counts @ columns.matrix for counts in _draws(n, resampling)]
    return columns.values(np.concatenate(sums))


def intervals(terms: Mapping[str, Term], resampling: Resampling) -> dict[str, tuple[float, float]]:
    """Percentile bootstrap interval of each metric."""
    return percentiles(list(terms), bootstrap_values(terms, resampling), resampling)


def percentiles(
    names: list[str], values: Values, resampling: Resampling
) -> dict[str, tuple[float, float]]:
    """Return the middle `confidence` of each column of values (n_resamples, n_names)."""
    outside = (1 - resampling.confidence) / 2
    low, high = np.quantile(values, [outside, 1 - outside], axis=0)
    return {name: (float(low[i]), float(high[i])) for i, name in enumerate(names)}


def batches(n_instances: int, n_resamples: int) -> list[int]:
    """Return how many samples to hold at once, batch by batch; the draws do not depend on it."""
    size = max(1, min(n_resamples, NUMBERS_IN_MEMORY // max(n_instances, 1)))
    full, rest = divmod(n_resamples, size)
    return [size] * full + [rest] * (rest > 0)


def _draws(n: int, resampling: Resampling) -> Iterator[Values]:
    """How often each instance is drawn, (batch, n_instances) at a time."""
    from multitudes.kernels.metrics import count_draws  # loads numba: not before it is needed

    rng = np.random.default_rng(resampling.random_state)
    with track("bootstrap", resampling.n_resamples, "samples") as task:
        for size in batches(n, resampling.n_resamples):
            counts = np.empty((size, n))
            for row in counts:
                count_draws(rng.integers(0, n, n, np.int32), row)
            yield counts
            task.advance(size)
