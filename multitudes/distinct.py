"""Distinct values of an array, by sorting."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Number = TypeVar("Number", bound=np.generic)


def distinct(values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return each value once, ascending; there is no NaN among them.

    ``numpy.unique`` puts numbers into a table since 2.3, which takes far longer than to sort them
    where millions are different.
    """
    ordered = np.sort(values, axis=None)
    is_first: npt.NDArray[Any] = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    found: npt.NDArray[Number] = ordered[is_first]
    return found
