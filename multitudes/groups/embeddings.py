"""Label embeddings from groups: close to at least one instance of each group that has the label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.groups.candidates import Block, Candidates, checked_candidates
from multitudes.groups.within_spread import within_spread
from multitudes.kernels.groups.embeddings import learn_embeddings
from multitudes.kernels.rows import ShiftedRows, SparseRows
from multitudes.kernels.sparse import measure_rows
from multitudes.labels.embeddings import weighted_sums
from multitudes.types import FloatArray, Sparse
from multitudes.validation import (
    checked_count,
    checked_features,
    checked_number,
    checked_vectors,
)

AUTO = "auto"
MOST_STEPS = 20
# The part of the variance that lies between groups from which on all steps are taken.
ALIKE = 0.05


def group_label_embeddings(
    X: Any,
    groups: Sparse,
    group_labels: Sparse,
    *,
    n_steps: int = 20,
    step: float = 0.1,
    n_jobs: int | None = None,
) -> Any:
    """Algorithm 1 of the paper (GRLR): a label is the direction of its closest instances.

    It starts from the sum of all instances of the label's groups, Eq. (1), and takes projected
    steps towards the sum of each group's closest instance, which approximates Eq. (2)::

        e <- Proj(e + step * Proj(sum over groups of the closest instance))

    Closest is by cosine, and ties go to the smaller instance id. A sum that cancels keeps e; if
    the start itself cancels (Figure 1), the label starts from a member of its first group instead,
    a different one for labels with neighboring ids.

    Parameters
    ----------
    X : CSR or array (n_instances, n_features)
    groups : CSR (n_instances, n_groups)
        1 where an instance is in a group; it may be in several, or in none.
    group_labels : CSR (n_groups, n_labels)
        How often a group lists a label: so often it counts. The paper merges labels into lists with
        repetitions, and with large groups that is all that tells labels apart.
    n_steps : int
        T of the paper; 0 is the start alone (EAGLE-0).
    step : float
        Lambda of the paper.
    n_jobs : int, optional
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
    X = checked_instances(X)
    candidates = checked_candidates(groups, group_labels, n_instances=X.shape[0])
    learner = embedder(X, groups, candidates, n_steps=n_steps, step=step, contrast=False)
    parts = candidates.over_blocks(
        lambda block: learner.coefficients(candidates, block), n_jobs=n_jobs
    )
    weights = sp.csc_array(
        (np.concatenate(parts), candidates.instances(), candidates.label_places()),
        shape=(candidates.n_instances, candidates.n_labels),
    )
    return weighted_sums(X, weights, n_jobs=n_jobs)


@dataclass(frozen=True)
class Embedder:
    """Algorithm 1 over blocks of labels.

    Parameters
    ----------
    x : ShiftedRows
        Of `instance_rows`.
    n_features, n_steps : int
    step : float
    """

    x: ShiftedRows
    n_features: int
    n_steps: int
    step: float

    def cosines(self, candidates: Candidates, block: Block) -> FloatArray:
        """Return the cosine of each place of a block with its label's embedding, (n_places,)."""
        return self._learn(candidates, block, 0)[0]

    def coefficients(self, candidates: Candidates, block: Block) -> FloatArray:
        """Return the coefficient of each place's row in its label's embedding, (n_places,)."""
        return self._learn(candidates, block, block.n_places)[1]

    def _learn(
        self, candidates: Candidates, block: Block, n_coefficients: int
    ) -> tuple[FloatArray, FloatArray]:
        pairs = block.pairs(candidates)
        cosine = np.empty(block.n_places, np.float32)
        coefficient = np.empty(n_coefficients, np.float32)
        learn_embeddings(
            self.x, candidates.group_indptr, candidates.members,
            block.label_indptr(candidates), candidates.pair_group[pairs],
            candidates.pair_count[pairs], block.start,
            self.n_steps, self.step,
            np.zeros(self.n_features, np.float32), np.zeros(self.n_features, np.uint32),
            cosine, coefficient,
        )  # fmt: skip
        return cosine, coefficient


def embedder(
    X: Any, groups: Sparse, candidates: Candidates, *, n_steps: Any, step: Any, contrast: bool
) -> Embedder:
    """Return an `Embedder` of checked settings; X is as `checked_instances` returns it."""
    if isinstance(n_steps, str) and n_steps == AUTO:
        n_steps = automatic_steps(X, groups, candidates) if contrast else MOST_STEPS
    n_steps = checked_count(n_steps, "n_steps (a number or 'auto')", at_least=0)
    step = checked_number(step, "step", above=0)
    rows = instance_rows(X, candidates, contrast=contrast)
    return Embedder(rows, int(X.shape[1]), n_steps, step)


def automatic_steps(X: Any, groups: Sparse, candidates: Candidates) -> int:
    """Choose the steps of contrasting embeddings by the part of the variance within groups.

    In groups put together at random the other members are a fair sample of all instances, and
    taking off the mean of all instances is all it needs: steps only add noise. The more alike the
    members of a group are, the more of them is left in the start, and steps take that out.
    """
    n_filled = candidates.counts.groups - candidates.counts.empty
    if n_filled < 2 or candidates.counts.memberships == n_filled:
        return 0  # groups of one, or only one group: there is nothing to choose, or to learn from
    share = within_spread(X, groups).share
    alike = 0.0 if np.isnan(share) else (1 - share) / ALIKE
    return round(MOST_STEPS * min(max(alike, 0.0), 1.0))


def checked_instances(X: Any) -> Any:
    """Return X as float32, CSR or dense as it was; NaN, infinities and odd shapes are refused."""
    is_dense = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub"
    return checked_vectors(X, name="X") if is_dense else checked_features(X)


def instance_rows(X: Any, candidates: Candidates, *, contrast: bool) -> ShiftedRows:
    """Return the rows that `learn_embeddings` reads.

    Parameters
    ----------
    X : CSR or array (n_instances, n_features), as `checked_instances` returns it
    contrast : bool
        Take the mean over all groups' members off. A label's mean instance minus that of the
        groups without the label is the same direction, so this is what the label's groups have
        more of than the others.
    """
    n_instances = X.shape[0]
    if not contrast:
        return ShiftedRows(_rows(X), _lengths(X), np.zeros(n_instances, np.float32), 0.0)
    times = np.bincount(candidates.members, minlength=n_instances).astype(np.float64)
    mean = (X.T @ times) / max(times.sum(), 1.0)
    shift = np.asarray(X @ mean.astype(np.float32))
    square = float(mean @ mean)
    squares = np.square(_lengths(X), dtype=np.float64) - 2 * shift + square
    lengths = np.sqrt(np.maximum(squares, 0)).astype(np.float32)
    return ShiftedRows(_rows(X), lengths, shift, square)


def _rows(X: Any) -> SparseRows | FloatArray:
    is_sparse = sp.issparse(X)
    if not is_sparse:
        dense: FloatArray = X
        return dense
    columns = X.indices.astype(np.int32, copy=False).view(np.uint32)
    return SparseRows(X.indptr.astype(np.int64), columns, X.data)


def _lengths(X: Any) -> FloatArray:
    is_sparse = sp.issparse(X)
    if not is_sparse:
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", X, X)), np.float32)
    n = X.shape[0]
    lengths, unused = np.empty(n, np.float32), np.empty(n, np.float32)
    counts = np.empty(n, np.int64)
    measure_rows(X.indptr.astype(np.int64), X.data, 0.0, 0, n, lengths, unused, counts)
    return lengths
