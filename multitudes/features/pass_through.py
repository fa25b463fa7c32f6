"""X given by the user: checked, brought to the library's form, and passed on."""

from __future__ import annotations

from typing import Any, Self, cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin

from multitudes.errors import DataError, NotFittedError
from multitudes.features.weighting import normalized
from multitudes.store.state import State
from multitudes.types import Sparse


class PassThrough(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Features that are features already: sparse in, float32 CSR with sorted indices out.

    Parameters
    ----------
    normalize : bool
        Scale each row to Euclidean length 1.

    Attributes
    ----------
    n_features_ : int
    """

    def __init__(self, *, normalize: bool = False) -> None:
        self.normalize = normalize

    def fit(self, X: Sparse, y: object = None) -> Self:
        """Learn the number of columns; returns self."""
        self.n_features_ = int(as_features(X).shape[1])
        return self

    def transform(self, X: Sparse) -> sp.csr_array[Any]:
        """X as CSR (n_instances, n_features), float32, indices sorted; never changes X itself."""
        if not hasattr(self, "n_features_"):
            raise NotFittedError("this PassThrough does not know its columns: call fit first")
        csr = as_features(X)
        if csr.shape[1] != self.n_features_:
            raise DataError(f"X must have {self.n_features_} columns as in fit, got {csr.shape[1]}")
        return normalized(csr.copy()) if self.normalize else csr

    def to_state(self) -> State:
        """Return the settings and the number of columns."""
        if not hasattr(self, "n_features_"):
            raise NotFittedError("this PassThrough does not know its columns: call fit first")
        config = {"normalize": self.normalize, "n_features": self.n_features_}
        return State("pass-through", config)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build the features again."""
        features = cls(normalize=state.config["normalize"])
        features.n_features_ = int(state.config["n_features"])
        return features


def as_features(X: Any) -> sp.csr_array[Any]:
    """Any sparse or dense (n_instances, n_features) as CSR, float32, sorted, finite.

    What already has this form is not copied. Repeated entries of a cell add up.
    """
    if not sp.issparse(X) and not (isinstance(X, np.ndarray) and X.ndim == 2):
        raise DataError(
            f"X must be a sparse or dense (n_instances, n_features) matrix, got {type(X).__name__}"
            ": for texts use TfidfFeatures"
        )
    try:
        csr: sp.csr_array[Any] = sp.csr_array(cast(Any, X), dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"X must hold numbers: {error}") from None
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    bad = np.flatnonzero(~np.isfinite(csr.data))
    if len(bad):
        row = int(np.searchsorted(csr.indptr, bad[0], side="right")) - 1
        raise DataError(
            f"X has {csr.data[bad[0]]} at row {row}, column {csr.indices[bad[0]]}; "
            "values must be finite"
        )
    return csr
