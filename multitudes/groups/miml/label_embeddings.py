"""L, the label embeddings of the mask: learned from the bags, or given."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.errors import ConfigError, DataError
from multitudes.groups.embeddings import group_label_embeddings
from multitudes.groups.miml.bags import Bags
from multitudes.types import FloatArray
from multitudes.validation import checked_features

EAGLE, EAGLE_0 = "eagle", "eagle-0"
_N_STEPS = {EAGLE: 20, EAGLE_0: 0}


def check_choice(choice: Any) -> None:
    """Refuse a name that is not known."""
    if isinstance(choice, str) and choice not in _N_STEPS:
        raise ConfigError(
            f"label_embeddings must be {EAGLE!r}, {EAGLE_0!r}, None or an array "
            f"(n_labels, n_features), got {choice!r}"
        )


def embeddings_of(bags: Bags, choice: Any) -> FloatArray | None:
    """Label embeddings (n_labels, n_features), dense; None for none.

    Parameters
    ----------
    bags : Bags
        The training bags.
    choice : 'eagle', 'eagle-0', None or array (n_labels, n_features)
        Algorithm 1 with 20 steps, with none, or the user's own.
    """
    if choice is None:
        return None
    if isinstance(choice, str):
        groups = sp.csr_array(bags.members.T)
        n_steps = _N_STEPS[choice]
        found = group_label_embeddings(bags.X, groups, possible_counts(bags), n_steps=n_steps)
        dense: FloatArray = found if isinstance(found, np.ndarray) else found.toarray()
        return dense
    embeddings = checked_features(choice, name="label_embeddings").toarray()
    expected = (bags.group_labels.shape[1], bags.X.shape[1])
    if embeddings.shape != expected:
        raise DataError(
            f"label_embeddings must be (n_labels, n_features) = {expected}, got {embeddings.shape}"
        )
    return np.asarray(embeddings, np.float32)


def possible_counts(bags: Bags) -> sp.csr_array[Any]:
    """Group labels (n_groups, n_labels), no label listed more often than the group has members."""
    counts: sp.csr_array[Any] = bags.group_labels.copy()
    counts.data = np.minimum(counts.data, np.repeat(bags.sizes, bags.n_listed))
    return counts
