"""Bags to learn from, and single instances to validate and to test on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from multitudes.groups.miml.bags import Bags
from multitudes.groups.miml.label_embeddings import embeddings_of
from multitudes.types import FloatArray


class Part(NamedTuple):
    """Instances (n, n_features), and labels (n, n_labels) of each of them, or of each bag.

    `groups` is (n, n_bags); None says that each instance is a bag by itself.
    """

    X: FloatArray
    Y: sp.csr_array[Any]
    groups: sp.csr_array[Any] | None = None


@dataclass(frozen=True)
class Problem:
    """One division of the data.

    Parameters
    ----------
    train : Part
        Bags and how often each lists a label.
    validation, test : Part
        Single instances.
    test_bags : Part, optional
        Bags to test on.
    """

    train: Part
    validation: Part
    test: Part
    test_bags: Part | None = None
    _embeddings: dict[str, FloatArray] = field(default_factory=dict)

    def embeddings(self, choice: str) -> FloatArray:
        """L (n_labels, n_features), 'eagle' or 'eagle-0'; learned once."""
        if choice not in self._embeddings:
            groups = self.train.groups
            assert groups is not None
            found = embeddings_of(Bags(self.train.X, sp.csr_array(groups.T), self.train.Y), choice)
            assert found is not None
            self._embeddings[choice] = found
        return self._embeddings[choice]


def nearest(embeddings: FloatArray, part: Part) -> float:
    """Percent of single instances that have the label with the largest inner product."""
    found = (part.X @ embeddings.T).argmax(axis=1)
    return 100 * float(part.Y.toarray()[np.arange(len(found)), found].mean())
