"""Instance labels from group labels: each label of a group goes to its closest instance."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.groups.assignment import Imputation, Rule, assign
from multitudes.groups.candidates import checked_candidates
from multitudes.groups.embeddings import embedder
from multitudes.groups.instance_rows import checked_instances
from multitudes.types import Sparse

__all__ = ["Imputation", "impute", "spread"]


def impute(
    X: Any,
    groups: Sparse,
    group_labels: Sparse,
    *,
    n_steps: int | str = 20,
    step: float = 0.1,
    contrast: bool = False,
    use_counts: bool = False,
    margin: float = 0.0,
    soft: bool = False,
    temperature: float = 0.1,
    n_jobs: int | None = None,
) -> Imputation:
    """Algorithm 2 of the paper (EAGLE): learn label embeddings, give labels to the closest.

    The defaults are the paper's. Labels of groups without instances go to nobody, and instances in
    no group get none; `counts` of the result says how many.

    Parameters
    ----------
    X : CSR or array (n_instances, n_features)
    groups : CSR (n_instances, n_groups)
        1 where an instance is in a group; it may be in several, or in none.
    group_labels : CSR (n_groups, n_labels)
        How often a group lists a label; ones where only the set is known.
    n_steps : int or 'auto'
        Steps of `group_label_embeddings`. 'auto': none for contrasting embeddings of groups whose
        instances differ as much as those of different groups, up to 20 otherwise.
    step : float
        Length of a step.
    contrast : bool
        Learn from the groups without a label too: an embedding is then what the label's groups
        have more of than the others.
    use_counts : bool
        A label that a group lists c times goes to c instances; otherwise to one, as in the paper.
    margin : float
        Further instances get a label if their cosine is less than this below that of the last one
        chosen.
    soft : bool
        Divide each label among all instances of the group, instead of choosing.
    temperature : float
        Of the softmax of cosines that divides: small is nearly a choice.
    n_jobs : int, optional
        All cores by default. The result is the same for any number.
    """
    X = checked_instances(X)
    candidates = checked_candidates(groups, group_labels, n_instances=X.shape[0])
    rule = Rule(margin, use_counts, soft, temperature)
    learner = embedder(X, groups, candidates, n_steps=n_steps, step=step, contrast=contrast)
    return assign(candidates, lambda block: learner.cosines(candidates, block), rule, n_jobs=n_jobs)


def spread(groups: Sparse, group_labels: Sparse) -> sp.csr_array[Any]:
    """The naive baseline: every instance has all labels of its groups, Y1 Y2 of the paper.

    Parameters
    ----------
    groups : CSR (n_instances, n_groups)
    group_labels : CSR (n_groups, n_labels)

    Returns
    -------
    CSR (n_instances, n_labels), float32
        1 where an instance is in a group that lists the label.
    """
    checked_candidates(groups, group_labels)
    Y = sp.csr_array(sp.csr_array(groups) @ sp.csr_array(group_labels))
    Y.eliminate_zeros()
    Y.sort_indices()
    return sp.csr_array((np.ones(Y.nnz, np.float32), Y.indices, Y.indptr), shape=Y.shape)
