"""Labels of the truth that a model does not know: counted as missed, or left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.types import Sparse


@dataclass(frozen=True)
class UnknownLabels:
    """Labels of the truth that the model cannot predict, because it does not know them.

    Parameters
    ----------
    n_labels, n_assignments : int
        How many labels these are, and how many (instance, label) pairs of the truth have one.
    left_out : bool
        Whether they were left out of the truth; else they count as missed.
    """

    n_labels: int
    n_assignments: int
    left_out: bool = False

    def note(self) -> str:
        """Return what a reader of the numbers should know; empty if there is nothing to say."""
        if not self.n_labels:
            return "No label of the truth is unknown to the model." if self.left_out else ""
        are = "label of the truth" if self.n_labels == 1 else "labels of the truth"
        pairs = "assignment" if self.n_assignments == 1 else "assignments"
        start = f"{self.n_labels:,} {are} ({self.n_assignments:,} {pairs}) unknown to the model"
        if self.left_out:
            return f"{start}: left out, as known_labels=True asks."
        return f"{start}: counted as missed; known_labels=True leaves them out."


def split_unknown(
    Y: Sparse, is_known: npt.NDArray[np.bool_], *, leave_out: bool = False
) -> tuple[sp.csr_array[Any], UnknownLabels]:
    """Count the labels of the truth that a model does not know, and leave them out if asked to.

    Parameters
    ----------
    Y : CSR (n_instances, n_labels)
        The truth.
    is_known : bool array (n_labels,)
    leave_out : bool
        Whether the Y that is returned is without them. An instance may be left without labels.
    """
    entries = sp.csr_array(Y)
    strange = ~is_known[entries.indices] & (entries.data != 0)
    unknown = UnknownLabels(
        len(np.unique(entries.indices[strange])), int(np.count_nonzero(strange)), leave_out
    )
    if not (leave_out and unknown.n_assignments):
        return entries, unknown
    kept = entries.copy()
    kept.data[strange] = 0
    kept.eliminate_zeros()
    return kept, unknown
