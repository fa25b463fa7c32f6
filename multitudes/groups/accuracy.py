"""How many labels were assigned to the right instance, where some instances' labels are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.errors import DataError
from multitudes.validation import checked_features
from multitudes.validation.arrays import as_array


@dataclass(frozen=True)
class ImputationAccuracy:
    """Assigned labels against known ones, over the instances whose labels are known.

    Parameters
    ----------
    precision : float
        Part of the assigned labels that are right; NaN where none was assigned.
    recall : float
        Part of the known labels that were assigned.
    n_instances : int
        Instances whose labels are known.
    n_assigned : float
        Labels assigned to them; soft assignments count by their weight.
    n_known : int
        Labels known.
    """

    precision: float
    recall: float
    n_instances: int
    n_assigned: float
    n_known: int


def imputation_accuracy(
    imputation: Any, Y_known: Any, *, known: npt.ArrayLike | None = None
) -> ImputationAccuracy:
    """Compare imputed labels with known ones.

    Parameters
    ----------
    imputation : Imputation, or CSR (n_instances, n_labels)
        What `impute` returned, or labels of any other origin: with ``spread(groups,
        group_labels)`` the precision is that of assigning labels at random.
    Y_known : CSR (n_instances, n_labels)
        The true labels of the instances that are known; other rows are empty.
    known : bool array (n_instances,), optional
        Which instances are known; by default those with a label. Say it where some are known to
        have none.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> imputed = sp.csr_array([[1, 1, 0], [0, 0, 1]])
    >>> truth = sp.csr_array([[1, 0, 0], [0, 0, 0]])
    >>> imputation_accuracy(imputed, truth).precision
    0.5
    """
    assigned: Any = checked_features(getattr(imputation, "Y", imputation), name="imputation")
    truth: Any = checked_features(Y_known, name="Y_known")
    assigned, truth = assigned.astype(np.float64), truth.astype(np.float64)
    if assigned.shape != truth.shape:
        raise DataError(
            f"imputed and known labels must have one shape, got {assigned.shape} and "
            f"{truth.shape}: rows are the instances, columns the label space"
        )
    truth.eliminate_zeros()
    truth.data.fill(1)
    rows = _known_rows(known, truth)
    truth, assigned = truth[rows], assigned[rows]
    n_right = float(assigned.multiply(truth).sum())
    n_assigned = float(assigned.sum())
    return ImputationAccuracy(
        precision=n_right / n_assigned if n_assigned else float("nan"),
        recall=n_right / truth.nnz if truth.nnz else float("nan"),
        n_instances=len(rows),
        n_assigned=n_assigned,
        n_known=int(truth.nnz),
    )


def _known_rows(known: npt.ArrayLike | None, truth: Any) -> npt.NDArray[np.int64]:
    has_labels = np.diff(truth.indptr) > 0
    mask = has_labels if known is None else as_array(known)
    if mask is None:
        raise DataError("known must be an array, a bool for each instance")
    if mask.shape != has_labels.shape or mask.dtype != bool:
        raise DataError(
            f"known must be a bool for each of the {len(has_labels):,} instances, got shape "
            f"{mask.shape} of {mask.dtype}"
        )
    if not mask.any():
        raise DataError("no instance has a known label: there is nothing to compare with")
    return np.flatnonzero(mask)
