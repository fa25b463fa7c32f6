"""Dense embeddings as features: from the user's own encoder, or given as an array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse as sp

from multitudes.errors import ConfigError, DataError, NotFittedError
from multitudes.features.text_buffer import TextTransformer, as_texts
from multitudes.features.weighting import normalized
from multitudes.progress import track
from multitudes.store import checks
from multitudes.store.state import State
from multitudes.types import FloatArray

Encoder: TypeAlias = Callable[[Sequence[str]], Any]


class DenseFeatures(TextTransformer):
    """Embeddings (n_instances, n_dimensions) as CSR rows, so that every model takes them.

    Zeros are not stored. NaN and infinite values are refused by row and column.

    Parameters
    ----------
    encoder : callable or None
        Takes a list of texts, returns an array (n_texts, n_dimensions), e.g. the ``encode`` method
        of a sentence-transformers model. None: `fit` and `transform` are given the array itself.
    normalize : bool
        Scale each row to Euclidean length 1.
    batch_size : int
        Texts handed to the encoder at a time.

    Attributes
    ----------
    n_features_ : int
    """

    def __init__(
        self, *, encoder: Encoder | None = None, normalize: bool = True, batch_size: int = 1024
    ) -> None:
        self.encoder = encoder
        self.normalize = normalize
        self.batch_size = batch_size

    def fit(self, data: Any, y: object = None) -> Self:
        """Learn the number of dimensions; returns self."""
        first = data if self.encoder is None else as_texts(data)[:1]
        self.n_features_ = int(self._dense(first).shape[1])
        return self

    def fit_transform(self, data: Any, y: object = None) -> sp.csr_array[Any]:
        """`fit` and `transform`, encoding once."""
        dense = self._dense(data)
        self.n_features_ = int(dense.shape[1])
        return self._rows(dense)

    def transform(self, data: Any) -> sp.csr_array[Any]:
        """Return the embeddings of texts, or the given array.

        Returns
        -------
        CSR (n_instances, n_features), float32, indices sorted
        """
        if not hasattr(self, "n_features_"):
            raise NotFittedError("this DenseFeatures does not know its dimensions: call fit first")
        if self.encoder is not None and len(as_texts(data)) == 0:
            return sp.csr_array(np.empty((0, self.n_features_), np.float32))
        dense = self._dense(data)
        if dense.shape[1] != self.n_features_:
            raise DataError(
                f"embeddings must have {self.n_features_} dimensions as in fit, "
                f"got {dense.shape[1]}: use the same encoder"
            )
        return self._rows(dense)

    def to_state(self) -> State:
        """Return the settings; the encoder itself is not stored, only whether there was one."""
        if not hasattr(self, "n_features_"):
            raise NotFittedError("this DenseFeatures does not know its dimensions: call fit first")
        config = {
            "normalize": self.normalize,
            "batch_size": self.batch_size,
            "n_features": self.n_features_,
            "needs_encoder": self.encoder is not None,
        }
        return State("dense-features", config)

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check the settings."""
        checks.names(state, config=("normalize", "batch_size", "n_features", "needs_encoder"))
        checks.flag(state, "normalize")
        checks.flag(state, "needs_encoder")
        checks.count(state, "batch_size", at_least=1)
        checks.count(state, "n_features", at_least=1)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build the features again; where an encoder was used, set `encoder` before transform."""
        config = state.config
        encoder = missing_encoder if config["needs_encoder"] else None
        features = cls(
            encoder=encoder, normalize=config["normalize"], batch_size=config["batch_size"]
        )
        features.n_features_ = int(config["n_features"])
        return features

    def _dense(self, data: Any) -> FloatArray:
        if self.batch_size < 1:
            raise ConfigError(f"batch_size must be >= 1, got {self.batch_size}")
        if self.encoder is None:
            return checked(data)
        texts = as_texts(data)
        batches = []
        with track("encoding texts", len(texts), "texts") as task:
            for start in range(0, len(texts), self.batch_size):
                batch = list(texts[start : start + self.batch_size])
                batches.append(checked(self.encoder(batch), n_rows=len(batch), first_row=start))
                task.advance(len(batch))
        if not batches:
            raise DataError("no texts to encode: pass at least one text to fit")
        return np.concatenate(batches)

    def _rows(self, dense: FloatArray) -> sp.csr_array[Any]:
        X = sp.csr_array(dense)
        return normalized(X) if self.normalize else X


def missing_encoder(texts: Sequence[str]) -> Any:
    """Stands where a loaded model's encoder must be set again."""
    raise ConfigError(
        "a stored DenseFeatures holds no encoder, since a function cannot be stored: "
        "set it after loading with features.set_params(encoder=...)"
    )


def checked(values: Any, *, n_rows: int | None = None, first_row: int = 0) -> FloatArray:
    """Embeddings as a float32 array (n_rows, n_dimensions), finite."""
    try:
        dense = np.array(values, np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"embeddings must be an array of numbers (n_instances, n_dimensions): {error}; "
            "for texts set encoder="
        ) from None
    if dense.ndim != 2 or (n_rows is not None and len(dense) != n_rows):
        expected = "n_instances" if n_rows is None else n_rows
        raise DataError(
            f"embeddings must have the shape ({expected}, n_dimensions), got {dense.shape}"
        )
    bad = np.argwhere(~np.isfinite(dense))
    if len(bad):
        row, column = bad[0]
        raise DataError(
            f"embedding of instance {first_row + row} has {dense[row, column]} in dimension "
            f"{column}; values must be finite"
        )
    return dense
