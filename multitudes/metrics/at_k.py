"""Metrics of the best k labels that are sums over instances.

P@k, R@k and nDCG@k, and their propensity-scored forms PSP@k, PSR@k and PSnDCG@k. The functions that
end in ``_terms`` give each instance's share; the public ones give the number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.metrics.inputs import PredictionsLike, TruthLike, check_ks
from multitudes.metrics.matches import Matches, Values, match
from multitudes.metrics.propensity import check_weights
from multitudes.metrics.terms import Term, ratio


def discounts(ranks: npt.NDArray[np.integer[Any]]) -> Values:
    """1 / log2(rank + 2): what a hit at each rank counts, 1 at rank 0 (the best)."""
    return np.asarray(1 / np.log2(ranks + 2.0), np.float64)


def precision_terms(matches: Matches, k: int) -> Term:
    """P@k: hits among the best k, over k."""
    return Term(matches.gain(k) / k, matches.ones)


def recall_terms(matches: Matches, k: int) -> Term:
    """R@k: hits among the best k, over the number of true labels; 0 where there are none."""
    return Term(ratio(matches.gain(k), matches.n_true), matches.ones)


def ndcg_terms(matches: Matches, k: int) -> Term:
    """nDCG@k: discounted hits over those of the best ranking of min(k, |y|) true labels."""
    gain = matches.gain(k, discounts(matches.hit_rank))
    return Term(ratio(gain, _ideal_dcg(matches, k)), matches.ones)


def propensity_terms(matches: Matches, ks: tuple[int, ...], weights: Values) -> dict[str, Term]:
    """PSP@k, PSnDCG@k and PSR@k for every k: what was gained over the best that could be.

    Parameters
    ----------
    weights : float64 array (n_labels,)
        Inverse propensities.
    """
    hit_weight = weights[matches.hit_label]
    best_weight, best_rank, best_row = _ranked_truth(matches, weights)
    hit_discounted = hit_weight * discounts(matches.hit_rank)
    best_discounted = best_weight * discounts(best_rank)

    def best(k: int, values: Values) -> Values:
        kept = best_rank < k
        sums = np.bincount(best_row[kept], values[kept], minlength=len(matches))
        return sums.astype(np.float64, copy=False)

    terms: dict[str, Term] = {}
    for k in ks:
        gained, possible = matches.gain(k, hit_weight), best(k, best_weight)
        ideal = _ideal_dcg(matches, k)
        terms[f"PSP@{k}"] = Term(gained / k, possible / k)
        terms[f"PSnDCG@{k}"] = Term(
            ratio(matches.gain(k, hit_discounted), ideal), ratio(best(k, best_discounted), ideal)
        )
        terms[f"PSR@{k}"] = Term(ratio(gained, matches.n_true), ratio(possible, matches.n_true))
    return terms


def at_k_terms(
    matches: Matches, ks: tuple[int, ...], weights: Values | None = None
) -> dict[str, Term]:
    """Every metric of this file for every k; the propensity-scored ones where weights are given."""
    terms: dict[str, Term] = {}
    for name, of in (("P", precision_terms), ("R", recall_terms), ("nDCG", ndcg_terms)):
        terms |= {f"{name}@{k}": of(matches, k) for k in ks}
    if weights is None:
        return terms
    scored = propensity_terms(matches, ks, weights)
    return terms | dict(sorted(scored.items(), key=lambda item: item[0].split("@")[0]))


def precision_at_k(
    predictions: PredictionsLike, truth: TruthLike, *, k: int = 5, skip_empty: bool = False
) -> float:
    """P@k: the share of the best k labels that are true, averaged over instances.

    Parameters
    ----------
    predictions : Predictions, matrix of scores, or lists of labels (best first) or (label, score)
        Labels of lists are names or ids, as in the truth; what `Tagger.predict` returns will do.
        A missing prediction counts as a miss.
    truth : 0/1 matrix (n_instances, n_labels), sparse or dense, or lists of labels
    k : int
        How many labels are looked at.
    skip_empty : bool
        Leave out instances without a true label; by default they count, with 0.
    """
    (k,) = check_ks((k,))
    return precision_terms(match(predictions, truth, top_k=k, skip_empty=skip_empty), k).value


def recall_at_k(
    predictions: PredictionsLike, truth: TruthLike, *, k: int = 5, skip_empty: bool = False
) -> float:
    """R@k: the share of an instance's true labels among the best k; inputs as `precision_at_k`."""
    (k,) = check_ks((k,))
    return recall_terms(match(predictions, truth, top_k=k, skip_empty=skip_empty), k).value


def ndcg_at_k(
    predictions: PredictionsLike, truth: TruthLike, *, k: int = 5, skip_empty: bool = False
) -> float:
    """nDCG@k: like P@k with hits discounted by rank; inputs as `precision_at_k`."""
    (k,) = check_ks((k,))
    return ndcg_terms(match(predictions, truth, top_k=k, skip_empty=skip_empty), k).value


def psp_at_k(
    predictions: PredictionsLike,
    truth: TruthLike,
    inverse_propensity: npt.ArrayLike,
    *,
    k: int = 5,
    skip_empty: bool = False,
) -> float:
    """PSP@k: propensity-scored precision, a ratio of two sums over the data set.

    Parameters
    ----------
    inverse_propensity : array (n_labels,)
        From `inverse_propensity(Y_train)`.
    predictions, truth, k, skip_empty
        As in `precision_at_k`.
    """
    return _propensity_scored("PSP", predictions, truth, inverse_propensity, k, skip_empty)


def psr_at_k(
    predictions: PredictionsLike,
    truth: TruthLike,
    inverse_propensity: npt.ArrayLike,
    *,
    k: int = 5,
    skip_empty: bool = False,
) -> float:
    """PSR@k: propensity-scored recall; inputs as `psp_at_k`."""
    return _propensity_scored("PSR", predictions, truth, inverse_propensity, k, skip_empty)


def psndcg_at_k(
    predictions: PredictionsLike,
    truth: TruthLike,
    inverse_propensity: npt.ArrayLike,
    *,
    k: int = 5,
    skip_empty: bool = False,
) -> float:
    """PSnDCG@k: propensity-scored nDCG; inputs as `psp_at_k`."""
    return _propensity_scored("PSnDCG", predictions, truth, inverse_propensity, k, skip_empty)


def _propensity_scored(
    name: str,
    predictions: PredictionsLike,
    truth: TruthLike,
    inverse_propensity: npt.ArrayLike,
    k: int,
    skip_empty: bool,
) -> float:
    (k,) = check_ks((k,))
    weights = check_weights(inverse_propensity)
    matches = match(predictions, truth, top_k=k, weights=weights, skip_empty=skip_empty)
    return propensity_terms(matches, (k,), weights)[f"{name}@{k}"].value


def _ideal_dcg(matches: Matches, k: int) -> Values:
    """DCG of a ranking whose first min(k, |y|) labels are all true, (n_instances,)."""
    k = min(k, int(matches.n_true.max(initial=0)))  # further places hold no true label
    reachable = np.concatenate([[0.0], np.cumsum(discounts(np.arange(k)))])
    return reachable[np.minimum(matches.n_true, k)]


def _ranked_truth(
    matches: Matches, weights: Values
) -> tuple[Values, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Weight, rank by falling weight, and instance of every true label, each (n_true,)."""
    from multitudes.kernels.metrics import rank_in_rows  # loads numba: not before it is needed

    truth = matches.truth
    values = weights[truth.indices]
    ranks = np.empty(truth.nnz, np.int32)
    rank_in_rows(truth.indptr.astype(np.int64), values, ranks)
    rows = np.repeat(np.arange(len(matches), dtype=np.int32), matches.n_true)
    return values, ranks, rows
