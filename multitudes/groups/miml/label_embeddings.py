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
        groups, group_labels = listed_apart(bags)
        n_steps = _N_STEPS[choice]
        found = group_label_embeddings(bags.X, groups, group_labels, n_steps=n_steps)
        dense: FloatArray = found if isinstance(found, np.ndarray) else found.toarray()
        return dense
    embeddings = checked_features(choice, name="label_embeddings").toarray()
    expected = (bags.group_labels.shape[1], bags.X.shape[1])
    if embeddings.shape != expected:
        raise DataError(
            f"label_embeddings must be (n_labels, n_features) = {expected}, got {embeddings.shape}"
        )
    return np.asarray(embeddings, np.float32)


def listed_apart(bags: Bags) -> tuple[sp.csr_array[Any], sp.csr_array[Any]]:
    """Groups and 0/1 group labels in which a label listed n times is in n copies of its group.

    Algorithm 1 counts each group of a label once. In groups of 50 nearly every label is in every
    group, all labels would get the same embedding, and only the counts tell them apart (appendix
    B.3): what is listed twice must count twice, up to once for each instance of the group.

    Returns
    -------
    groups : CSR (n_instances, n_copies)
    group_labels : CSR (n_copies, n_labels)
    """
    counts = bags.group_labels.copy()
    counts.data = np.minimum(counts.data, np.repeat(bags.sizes, bags.n_listed))
    copies, labels = [], []
    for times in range(1, int(counts.data.max(initial=1)) + 1):
        often = sp.csr_array(counts >= times)
        listing = np.flatnonzero(np.diff(often.indptr))
        copies.append(listing)
        labels.append(often[listing].astype(np.float32))
    groups = sp.csr_array(bags.members[np.concatenate(copies)].T)
    return groups, sp.csr_array(sp.vstack(labels))
