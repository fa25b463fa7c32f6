"""Whether an imported model predicts what its library does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.types import Predictions

TOLERANCE = 1e-4


def expected_of(folder: Path) -> sp.csr_array[Any]:
    """What the library predicted, scores where it listed a label."""
    return sp.csr_array(sp.load_npz(folder / "expected.npz"))


def assert_same(found: Predictions, expected: sp.csr_array[Any]) -> None:
    """The same labels in the same order with the same scores, but for ties.

    Both list at most as many labels as the library was asked for; a label that only one of them
    lists must tie with the last of the other.
    """
    assert len(found) == expected.shape[0]
    for i, (labels, scores) in enumerate(zip(found.labels, found.scores, strict=True)):
        row = slice(expected.indptr[i], expected.indptr[i + 1])
        order = np.lexsort((expected.indices[row], -expected.data[row]))
        theirs, values = expected.indices[row][order], expected.data[row][order]
        n = len(theirs)
        assert (labels[:n] >= 0).all(), f"row {i} lists fewer than {n} labels"
        np.testing.assert_allclose(scores[:n], values, atol=TOLERANCE, err_msg=f"row {i}")
        last = values[-1] if n else 0.0
        ours = dict(zip(labels[:n].tolist(), scores[:n].tolist(), strict=True))
        for label, value in zip(theirs.tolist(), values.tolist(), strict=True):
            assert abs(ours.get(label, last) - value) <= TOLERANCE, f"row {i}, label {label}"
