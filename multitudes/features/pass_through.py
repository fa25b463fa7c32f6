"""X given by the user: checked, brought to the library's form, and passed on."""

from __future__ import annotations

from typing import Any, Self

import scipy.sparse as sp

from multitudes.errors import NotFittedError
from multitudes.features.weighting import normalized
from multitudes.scikit_learn import BaseEstimator, TransformerMixin
from multitudes.store import checks
from multitudes.store.state import State
from multitudes.types import Sparse
from multitudes.validation import checked_features
from multitudes.validation.sparse import disowned


class PassThrough(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Features that are features already: sparse in, float32 CSR with sorted indices out.

    Parameters
    ----------
    normalize : bool
        Scale each row to Euclidean length 1.

    Attributes
    ----------
    n_features_in_, n_features_ : int
        Columns of X.
    """

    def __init__(self, *, normalize: bool = False) -> None:
        self.normalize = normalize

    def fit(self, X: Sparse, y: object = None) -> Self:
        """Learn the number of columns; returns self."""
        self.n_features_in_ = int(checked_features(X).shape[1])
        return self

    def transform(self, X: Sparse) -> sp.csr_array[Any]:
        """X as CSR (n_instances, n_features), float32, indices sorted; never changes X itself."""
        csr = checked_features(X, n_features=self.n_features_, model="PassThrough")
        return normalized(csr.copy()) if self.normalize else disowned(csr)

    @property
    def n_features_(self) -> int:
        """Columns of the result, as many as of X."""
        if not hasattr(self, "n_features_in_"):
            raise NotFittedError("this PassThrough does not know its columns: call fit first")
        return int(self.n_features_in_)

    def to_state(self) -> State:
        """Return the settings and the number of columns."""
        config = {"normalize": self.normalize, "n_features": self.n_features_}
        return State("pass-through", config)

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check the settings."""
        checks.names(state, config=("normalize", "n_features"))
        checks.flag(state, "normalize")
        checks.count(state, "n_features")

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build the features again."""
        features = cls(normalize=state.config["normalize"])
        features.n_features_in_ = int(state.config["n_features"])
        return features

    def __sklearn_tags__(self) -> Any:
        """Sparse matrices are welcome, and numbers become float32."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
