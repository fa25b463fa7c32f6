"""Training instances that a model keeps, so that it can show those behind a label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.encoder.explanation import NearestInstances, nearest_instances
from multitudes.types import FloatArray, Sparse
from multitudes.validation import checked_count


@dataclass(frozen=True)
class KeptInstances:
    """Embeddings of the training instances, and who has which label.

    Two bytes for each number: 100,000 instances of 384 dimensions take 77 MB.

    Parameters
    ----------
    vectors : float16 array (n_instances, d)
    Y : CSC (n_instances, n_labels)
    """

    vectors: npt.NDArray[np.float16]
    Y: Sparse

    @classmethod
    def of(cls, embeddings: FloatArray, Y: Sparse) -> Self:
        """From embeddings (n_instances, d) and Y (n_instances, n_labels) of any sparse format."""
        return cls(embeddings.astype(np.float16), sp.csc_array(Y))

    def nearest(self, label: int, query: FloatArray, *, top_k: int) -> NearestInstances:
        """The instances of a label most like a query (d,); a label added later has none."""
        top_k = checked_count(top_k, "top_k")
        if label >= self.Y.shape[1]:
            return NearestInstances(np.zeros(0, np.int64), np.zeros(0, np.float32))
        return nearest_instances(label, query, self.vectors, self.Y, top_k=top_k)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """As the store takes them."""
        return {
            "instances.vectors": self.vectors,
            "instances.of_label": np.asarray(self.Y.indices, np.int64),
            "instances.label_offsets": np.asarray(self.Y.indptr, np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self | None:
        """What `arrays` gave; None where there is none of it."""
        if "instances.vectors" not in arrays:
            return None
        vectors, rows = arrays["instances.vectors"], arrays["instances.of_label"]
        offsets = arrays["instances.label_offsets"]
        ones = np.ones(len(rows), np.float32)
        shape = (len(vectors), len(offsets) - 1)
        return cls(vectors, sp.csc_array((ones, rows, offsets), shape=shape))
