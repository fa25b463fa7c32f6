"""The least that a model needs: what "Adding a model" in CONTRIBUTING asks for, and no more."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import scipy.sparse as sp
from sklearn.preprocessing import normalize

from multitudes.estimator import Estimator
from multitudes.store import State, checks, register
from multitudes.types import Predictions
from multitudes.validation import checked_count, checked_features, checked_labels


class Neighbors(Estimator):
    """The labels of the training instances that are most alike.

    Parameters
    ----------
    power : int
        How much more the nearest count.
    """

    fitted_attribute: ClassVar[str] = "n_labels_"

    def __init__(self, *, power: int = 8) -> None:
        self.power = power

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the instances."""
        checked_count(self.power, "power")
        given, X = X, checked_features(X)
        Y = checked_labels(y, n_instances=X.shape[0])
        self.note_feature_names(given)
        self._set_learned(normalize(X), Y)
        return self

    def predict(self, X: Any, *, top_k: int = 5) -> Predictions:
        """Return the best labels of each instance."""
        self.check_fitted()
        top_k = min(checked_count(top_k, "top_k"), self.n_labels_)
        alike = sp.csr_array(self.known_features(X) @ self.X_.T)
        return Predictions.from_csr(alike.power(self.power) @ self.Y_, top_k)

    def to_state(self) -> State:
        """Return the instances."""
        self.check_fitted()
        arrays = {"X": self.X_.toarray(), "Y": self.Y_.toarray()}
        return State("test-neighbors", {"power": self.power}, arrays)

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check that X and Y are finite, and have a row for each instance."""
        checks.names(state, config=("power",), arrays=("X", "Y"))
        checks.count(state, "power", at_least=1)
        X = checks.array(state, "X", "float32", (None, None))
        Y = checks.array(state, "Y", ("float32", "float64"), (len(X), None))
        checks.finite(X, "X")
        checks.finite(Y, "Y")

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build the fitted model again."""
        model = cls(power=state.config["power"])
        model._set_learned(sp.csr_array(state.arrays["X"]), sp.csr_array(state.arrays["Y"]))
        return model

    def _set_learned(self, X: Any, Y: Any) -> None:
        self.X_, self.Y_ = X, Y
        self.n_features_in_ = X.shape[1]
        self.n_labels_ = Y.shape[1]


register("test-neighbors", Neighbors)
