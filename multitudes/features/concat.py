"""Several kinds of features side by side, each with its weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from multitudes.errors import ConfigError, DataError, NotFittedError
from multitudes.features.weighting import side_by_side
from multitudes.scikit_learn import BaseEstimator, TransformerMixin, clone
from multitudes.scikit_learn import sparse as sp
from multitudes.store import build, checks, state_of
from multitudes.store.state import State
from multitudes.validation import checked_features


class ConcatFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Blocks of features in one CSR, e.g. TF-IDF beside dense embeddings.

    With blocks of unit rows and weights w, an instance's row is (w1 · x1, w2 · x2, ...), and the
    inner product of two rows is the sum of the blocks' cosines, weighted by w².

    Parameters
    ----------
    blocks : sequence of feature estimators
        Each is given the same data.
    weights : sequence of float or None
        One factor per block; None: 1 each.

    Attributes
    ----------
    blocks_ : list of fitted estimators
    n_features_ : int
    """

    def __init__(self, blocks: Sequence[Any], *, weights: Sequence[float] | None = None) -> None:
        self.blocks = blocks
        self.weights = weights

    def fit(self, data: Any, y: object = None) -> Self:
        """Fit a clone of each block; returns self."""
        self.fit_transform(data)
        return self

    def fit_transform(self, data: Any, y: object = None) -> sp.csr_array[Any]:
        """Fit each block and return the features, reading the data once per block."""
        weights = self._weights()
        blocks = [clone(block) for block in self.blocks]
        X = joined([block.fit_transform(data) for block in blocks], weights)
        self.blocks_, self.n_features_ = blocks, int(X.shape[1])
        return X

    def transform(self, data: Any) -> sp.csr_array[Any]:
        """Return the features of the data.

        Returns
        -------
        CSR (n_instances, n_features), float32, indices sorted
        """
        self._check_fitted()
        return joined([block.transform(data) for block in self.blocks_], self._weights())

    @property
    def feature_names(self) -> list[str]:
        """The names of the blocks' features; a block without names gets ``block:column``."""
        self._check_fitted()
        names: list[str] = []
        for i, block in enumerate(self.blocks_):
            own = getattr(block, "feature_names", None)
            names += own if own is not None else [f"{i}:{j}" for j in range(block.n_features_)]
        return names

    def to_state(self) -> State:
        """Return the weights, and each block as a part."""
        self._check_fitted()
        states = [state_of(block) for block in self.blocks_]
        config = {"weights": self._weights(), "n_features": self.n_features_}
        return State(
            "concat-features", config, parts={f"block-{i}": s for i, s in enumerate(states)}
        )

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check that there is a weight for each block."""
        checks.names(state, config=("weights", "n_features"), parts=state.parts)
        blocks = checks.numbered_parts(state, "block")
        checks.numbers(state.config["weights"], "weights", n=len(blocks))
        checks.count(state, "n_features", at_least=1)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build the features again, blocks included."""
        blocks: list[Any] = [build(state.parts[f"block-{i}"]) for i in range(len(state.parts))]
        features = cls(blocks, weights=list(state.config["weights"]))
        features._weights()
        n_columns = sum(int(block.n_features_) for block in blocks)
        checks.same(n_columns, state.config["n_features"], "the number of features")
        features.blocks_, features.n_features_ = blocks, int(state.config["n_features"])
        return features

    def _weights(self) -> list[float]:
        if not len(self.blocks):
            raise ConfigError("ConcatFeatures needs at least one block, got none")
        weights = [1.0] * len(self.blocks) if self.weights is None else list(self.weights)
        if len(weights) != len(self.blocks):
            raise ConfigError(
                f"weights must have one value per block ({len(self.blocks)}), got {len(weights)}"
            )
        for weight in weights:
            if not (np.isfinite(weight) and weight > 0):
                raise ConfigError(
                    f"a block's weight must be finite and > 0, got {weight}: leave the block out "
                    "instead of weighing it 0"
                )
        return [float(weight) for weight in weights]

    def _check_fitted(self) -> None:
        if not hasattr(self, "blocks_"):
            raise NotFittedError("these ConcatFeatures are not fitted: call fit first")


def joined(blocks: list[sp.csr_array[Any]], weights: list[float]) -> sp.csr_array[Any]:
    """Weighted blocks side by side."""
    blocks = [checked_features(block, name=f"block {i}") for i, block in enumerate(blocks)]
    n_rows = {int(block.shape[0]) for block in blocks}
    if len(n_rows) != 1:
        raise DataError(f"blocks must have the same number of rows, got {sorted(n_rows)}")
    scaled = [
        sp.csr_array((block.data * np.float32(weight), block.indices, block.indptr), block.shape)
        for block, weight in zip(blocks, weights, strict=True)
    ]
    return side_by_side(scaled)
