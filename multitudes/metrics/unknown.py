"""Labels of the truth that a model does not know: counted as missed, or left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.types import Sparse
from multitudes.validation.sparse import own_csr


@dataclass(frozen=True)
class UnknownLabels:
    """Labels of the truth that a model cannot predict, because it does not know them.

    Parameters
    ----------
    n_labels, n_assignments : int
        How many labels these are, and how many (instance, label) pairs of the truth have one.
    left_out : bool
        Whether they were left out of the truth; else they count as missed.
    known_by : str
        Who would know them: "the model", or "the training data" if that is all that was given.
    """

    n_labels: int
    n_assignments: int
    left_out: bool = False
    known_by: str = "the model"

    def notes(self) -> tuple[str, ...]:
        """Return what a reader of the numbers should know; nothing if no label is unknown."""
        if not self.n_labels:
            none = f"No label of the truth is unknown to {self.known_by}."
            return (none,) if self.left_out else ()
        labels = f"{self.n_labels:,} label{'' if self.n_labels == 1 else 's'} of the truth"
        pairs = f"{self.n_assignments:,} assignment{'' if self.n_assignments == 1 else 's'}"
        are, count = ("is", "counts") if self.n_labels == 1 else ("are", "count")
        start = f"{labels} ({pairs}) {are} unknown to {self.known_by}"
        if self.left_out:
            return (f"{start}: left out by known_labels=True.",)
        return (f"{start} and {count} as missed; known_labels=True leaves them out.",)


def split_unknown(
    Y: Sparse,
    is_known: npt.NDArray[np.bool_],
    *,
    leave_out: bool = False,
    known_by: str = "the model",
) -> tuple[sp.csr_array[Any], UnknownLabels]:
    """Count the labels of the truth that a model does not know, and leave them out if asked to.

    Parameters
    ----------
    Y : CSR (n_instances, n_labels)
        The truth.
    is_known : bool array (n_labels,)
    leave_out : bool
        Whether the Y that is returned is without them. An instance may be left without labels.
    known_by : str
        See `UnknownLabels`.
    """
    entries = own_csr(Y, "the truth")
    strange = ~is_known[entries.indices] & (entries.data != 0)
    n_labels, n_assignments = len(np.unique(entries.indices[strange])), np.count_nonzero(strange)
    unknown = UnknownLabels(n_labels, int(n_assignments), leave_out, known_by)
    if not (leave_out and unknown.n_assignments):
        return entries, unknown
    kept = entries.copy()
    kept.data[strange] = 0
    kept.eliminate_zeros()
    return kept, unknown
