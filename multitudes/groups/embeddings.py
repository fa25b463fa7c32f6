"""Label embeddings from groups: close to at least one instance of each group that has the label."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.errors import ConfigError
from multitudes.groups.candidates import Block, Candidates, checked_candidates, checked_rows
from multitudes.kernels.group_embeddings import learn_embeddings
from multitudes.kernels.rows import SparseRows
from multitudes.labels.embeddings import weighted_sums
from multitudes.linear.inputs import checked_count
from multitudes.types import FloatArray, Sparse


def group_label_embeddings(
    X: Any,
    groups: Sparse,
    group_labels: Sparse,
    *,
    n_steps: int = 20,
    step: float = 0.1,
    n_threads: int | None = None,
) -> Any:
    """Algorithm 1 of the paper (GRLR): a label is the direction of its closest instances.

    It starts from the sum of all instances of the label's groups, Eq. (1), and takes projected
    steps towards the sum of each group's closest instance, which approximates Eq. (2)::

        e <- Proj(e + step * Proj(sum over groups of the closest instance))

    Closest is by cosine, and ties go to the smaller instance id. A sum that cancels keeps e; if
    the start itself cancels (Figure 1), the label starts from a member of its first group instead,
    a different one for labels with neighbouring ids.

    Parameters
    ----------
    X : CSR or array (n_instances, n_features)
    groups : CSR (n_instances, n_groups)
        1 where an instance is in a group; it may be in several, or in none.
    group_labels : CSR (n_groups, n_labels)
        How often a group lists a label. Each group counts once, as in the paper.
    n_steps : int
        T of the paper; 0 is the start alone (EAGLE-0).
    step : float
        Lambda of the paper.
    n_threads : int, optional
        All cores by default. The result is the same for any number.

    Returns
    -------
    CSR (n_labels, n_features), float32, sorted indices
        Rows of unit length; a dense array where X is dense. A label in no group, or whose groups
        have no members with features, has a zero row.

    References
    ----------
    Shen, Yu, Sanghavi and Dhillon, Extreme Multi-label Classification from Aggregated Labels, ICML
    2020.
    """
    rows, lengths = checked_rows(X)
    candidates = checked_candidates(groups, group_labels, n_instances=len(lengths))
    n_steps, step = checked_steps(n_steps, step)
    n_features = X.shape[1]

    def learn(block: Block) -> FloatArray:
        return learn_block(
            rows, lengths, candidates, block, n_features, n_steps, step, with_coefficients=True
        )[1]

    coefficients = np.concatenate(candidates.over_blocks(learn, n_threads=n_threads))
    weights = sp.csc_array(
        (coefficients, place_instances(candidates), candidates.label_places()),
        shape=(candidates.n_instances, candidates.n_labels),
    )
    return weighted_sums(X, weights, n_threads=n_threads)


def learn_block(
    rows: SparseRows | FloatArray,
    lengths: FloatArray,
    candidates: Candidates,
    block: Block,
    n_features: int,
    n_steps: int,
    step: float,
    *,
    with_coefficients: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Cosines of a block's places with their labels' embeddings, and the rows' coefficients."""
    pairs = block.pairs(candidates)
    cosine = np.empty(block.n_places, np.float32)
    coefficient = np.empty(block.n_places if with_coefficients else 0, np.float32)
    learn_embeddings(
        rows, lengths, candidates.group_indptr, candidates.members,
        candidates.label_indptr[block.start : block.stop + 1] - pairs.start,
        candidates.pair_group[pairs], block.start, n_steps, step,
        np.zeros(n_features, np.float32), cosine, coefficient,
    )  # fmt: skip
    return cosine, coefficient


def place_instances(candidates: Candidates, pairs: slice = slice(None)) -> Any:
    """The instance of each place, (n_places,) int32."""
    first = candidates.group_indptr[candidates.pair_group[pairs]]
    sizes = candidates.group_indptr[candidates.pair_group[pairs] + 1] - first
    starts = np.concatenate([[0], np.cumsum(sizes)])
    places = np.arange(starts[-1]) + np.repeat(first - starts[:-1], sizes)
    return candidates.members[places]


def checked_steps(n_steps: Any, step: Any) -> tuple[int, float]:
    """How many steps, and how large."""
    n_steps = checked_count(n_steps, "n_steps", at_least=0)
    is_number = isinstance(step, (int, float, np.number)) and not isinstance(step, bool)
    if not is_number or not 0 < step < np.inf:
        raise ConfigError(f"step must be a number > 0, got {step!r}")
    return n_steps, float(step)
