"""Predictions as a table of pandas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.errors import DataError, require
from multitudes.scikit_learn import sparse as sp


def tidy_frame(
    lengths: Sequence[int] | npt.NDArray[Any],
    labels: Any,
    scores: Any,
    rows: Iterable[Any] | None = None,
) -> Any:
    """Return a pandas DataFrame with a line for each predicted label: row, rank, label, score.

    Parameters
    ----------
    lengths : sequence of int
        How many labels each instance has.
    labels, scores : sequences
        Of one instance after the other, best first.
    rows : iterable, optional
        What to call the instances; defaults to 0, 1, 2, ...
    """
    pandas = require("pandas", extra="pandas")
    counts = np.asarray(lengths, np.int64)
    try:
        if sp.issparse(rows):
            raise TypeError
        names = range(len(counts)) if rows is None else list(rows)
    except TypeError as error:
        raise DataError(
            f"rows must be what the instances are called, got {type(rows).__name__}"
        ) from error
    with _valid_unicode():
        called = pandas.Index(names).to_numpy()
    if len(called) != len(counts):
        raise DataError(f"rows must name each instance ({len(counts):,}), got {len(called):,}")
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    columns = {
        "row": np.repeat(called, counts),
        "rank": np.arange(len(starts)) - starts + 1,
        "label": labels,
        "score": scores,
    }
    with _valid_unicode():
        return pandas.DataFrame(columns)


@contextmanager
def _valid_unicode() -> Iterator[None]:
    try:
        yield
    except UnicodeEncodeError as error:
        problem = f"a name is not valid Unicode, and no DataFrame can hold it: {error}"
        raise DataError(problem) from error
