"""A metric as a ratio of two sums over instances: the form that means and tests share.

P@k is the sum of each instance's precision over the sum of ones; PSP@k is the sum of what was
gained over the sum of what could be gained. Resampling instances then only re-weights two sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from multitudes.metrics.matches import Values


@dataclass(frozen=True)
class Term:
    """One metric, instance by instance.

    Parameters
    ----------
    numerator, denominator : float64 arrays (n_instances,)
        The metric is ``numerator.sum() / denominator.sum()``, and 0 where the latter is 0.
    """

    numerator: Values
    denominator: Values

    @property
    def value(self) -> float:
        """The metric over all instances."""
        return float(ratio(self.numerator.sum(), self.denominator.sum()))


def ratio(numerator: npt.ArrayLike, denominator: npt.ArrayLike, *, empty: float = 0.0) -> Values:
    """Element-wise quotient; `empty` where the denominator is 0."""
    above, below = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    out: Values = np.full(np.broadcast_shapes(above.shape, below.shape), empty, np.float64)
    np.divide(above, below, out=out, where=below != 0)
    return out


def total(values: Values) -> float:
    """Sum that does not depend on the order of labels, nor on how many of them count 0."""
    return float(np.sort(values[values != 0]).sum())


@dataclass(frozen=True)
class Columns:
    """All sums that some terms need, each once: terms share denominators.

    Parameters
    ----------
    matrix : float64 array (n_instances, n_columns)
    numerators, denominators : int arrays (n_terms,)
        The columns each term divides.
    """

    matrix: Values
    numerators: list[int]
    denominators: list[int]

    @classmethod
    def of(cls, terms: Mapping[str, Term]) -> Columns:
        """Stack the arrays of all terms, an array that several of them hold only once."""
        place: dict[int, int] = {}
        arrays: list[Values] = []
        for array in [a for term in terms.values() for a in (term.numerator, term.denominator)]:
            if id(array) not in place:
                place[id(array)] = len(arrays)
                arrays.append(array)
        return cls(
            np.stack(arrays, axis=1),
            [place[id(term.numerator)] for term in terms.values()],
            [place[id(term.denominator)] for term in terms.values()],
        )

    def values(self, sums: Values) -> Values:
        """Metrics (..., n_terms) from sums of the columns (..., n_columns)."""
        return ratio(sums[..., self.numerators], sums[..., self.denominators])
