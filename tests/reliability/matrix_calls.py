"""Every public callable that takes a sparse matrix, with the others of its arguments sound."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.data import Dataset, GroupCounts, merge_labels
from multitudes.disentangle import (
    Disentangled,
    assign,
    entangle,
    linear_bound,
    match_counts,
    random_assignment,
    tp_bound,
)
from multitudes.features import ConcatFeatures, PassThrough
from multitudes.groups import Eagle, group_label_embeddings, impute, spread
from multitudes.groups.within_spread import within_spread
from multitudes.labels import LabelTree, build_tree, concatenate, pifa, pii
from multitudes.linear import OneVsAll, Parabel, XRLinear
from multitudes.metrics import evaluate, frequency_bins, inverse_propensity, set_scores
from multitudes.scores import Calibrated, GlobalThreshold, LabelThresholds, filter_pairs
from multitudes.tagger import Tagger
from multitudes.types import Predictions

N, F, L, G = 12, 8, 5, 4
_rng = np.random.default_rng(0)
X = sp.csr_array((_rng.random((N, F)) * (_rng.random((N, F)) < 0.6)).astype(np.float32))
Y = sp.csr_array(np.eye(L, dtype=np.float32)[np.arange(N) % L])
GROUPS = sp.csr_array(np.eye(G, dtype=np.float32)[np.arange(N) % G])
GROUP_LABELS = sp.csr_array((_rng.random((G, L)) < 0.6).astype(np.float32))
XR = XRLinear(branching=2, max_leaf_size=2, n_jobs=1).fit(X, Y)
PARABEL = Parabel(n_trees=2, max_leaf_size=2, n_jobs=1).fit(X, Y)
FOUND = XR.predict(X, top_k=3)
TREE = LabelTree.from_leaves([[0, 1], [2, 3], [4]])
LEAVES = TREE.label_clusters(1)
TAGGER = Tagger(XRLinear(n_jobs=1)).fit(Dataset(X=X, Y=Y))
TEXTS = [f"word{i % 5} and word{i % 3}" for i in range(N)]
PASS = PassThrough().fit(X)


def _more(matrix: Any) -> Any:
    return XRLinear(branching=2, max_leaf_size=2, n_jobs=1).fit(X, Y).add_labels(X, matrix)


def _further(x: Any, y: Any) -> Any:
    return XRLinear(branching=2, max_leaf_size=2, n_jobs=1).fit(X, Y).partial_fit(x, y)


CALLS: dict[str, Any] = {
    "fit X": ((N, F), lambda m: XRLinear(n_jobs=1).fit(m, Y)),
    "fit y": ((N, L), lambda m: XRLinear(n_jobs=1, max_leaf_size=2).fit(X, m)),
    "fit hard_negatives": ((N, L), lambda m: XRLinear(n_jobs=1).fit(X, Y, hard_negatives=m)),
    "fit label_embeddings": ((L, F), lambda m: XR.fit(X, Y, label_embeddings=m)),
    "parabel label_embeddings": ((L, F), lambda m: PARABEL.fit(X, Y, label_embeddings=m)),
    "one-vs-all fit": ((N, F), lambda m: OneVsAll(n_jobs=1).fit(m, Y)),
    "predict": ((N, F), lambda m: XR.predict(m, top_k=2)),
    "parabel predict": ((N, F), lambda m: PARABEL.predict(m, top_k=2)),
    "match": ((N, F), XR.match),
    "explain": ((1, F), lambda m: XR.explain(m, 1)),
    "score": ((N, L), lambda m: XR.score(X, m)),
    "score_pairs": ((N, L), lambda m: XR.score_pairs(X, m)),
    "parabel score_pairs": ((N, L), lambda m: PARABEL.score_pairs(X, m)),
    "partial_fit X": ((N, F), lambda m: _further(m, Y)),
    "partial_fit y": ((N, L), lambda m: _further(X, m)),
    "add_labels": ((N, L + 1), _more),
    "disentangled": ((N, L), lambda m: Disentangled(XRLinear(n_jobs=1, max_leaf_size=2)).fit(X, m)),
    "tagger fit X": (
        (N, F),
        lambda m: Tagger(XRLinear(n_jobs=1)).fit(Dataset(X=m, Y=Y)),
    ),
    "tagger fit labels": (
        (N, L),
        lambda m: Tagger(XRLinear(n_jobs=1)).fit(TEXTS, m),
    ),
    "tagger predict": ((N, F), lambda m: TAGGER.predict(m)),
    "tagger evaluate": ((N, L), lambda m: TAGGER.evaluate(X, m)),
    "pass through fit": ((N, F), lambda m: PassThrough().fit_transform(m)),
    "pass through": ((N, F), PASS.transform),
    "concat": ((N, F), lambda m: ConcatFeatures([PassThrough(), PassThrough()]).fit_transform(m)),
    "dataset Y": ((N, L), lambda m: Dataset(Y=m, X=X).take([0, 3])),
    "dataset X": ((N, F), lambda m: Dataset(Y=Y, X=m)[:4]),
    "dataset groups": ((N, G), lambda m: Dataset(Y=Y, X=X, groups=m)),
    "dataset group_labels": ((G, L), lambda m: Dataset(Y=Y, X=X, groups=GROUPS, group_labels=m)),
    "merge_labels": ((N, L), lambda m: merge_labels(m, GROUPS)),
    "merge_labels groups": ((N, G), lambda m: merge_labels(Y, m)),
    "group counts": ((N, G), lambda m: GroupCounts.of(m, GROUP_LABELS)),
    "pifa X": ((N, F), lambda m: pifa(m, Y, n_jobs=1)),
    "pifa Y": ((N, L), lambda m: pifa(X, m, n_jobs=1)),
    "pii": ((N, L), pii),
    "concatenate": ((L, F), lambda m: concatenate([m, pii(Y)])),
    "build_tree": ((L, F), lambda m: build_tree(m, max_leaf_size=2, n_jobs=1)),
    "with_leaves": ((L, 3), TREE.with_leaves),
    "match_counts Y": ((N, L), lambda m: match_counts(m, GROUPS)),
    "match_counts": ((N, G), lambda m: match_counts(Y, m)),
    "assign counts": ((L, 3), lambda m: assign(m, LEAVES)),
    "assign capped": ((L, 3), lambda m: assign(m, LEAVES, max_cluster_size=4)),
    "assign current": ((L, 3), lambda m: assign(LEAVES, m)),
    "random_assignment": ((L, 3), lambda m: random_assignment(m, LEAVES, random_state=0)),
    "entangle Y": ((N, L), lambda m: entangle(m, pii(Y), 2, "easy", n_jobs=1)),
    "entangle": ((L, F), lambda m: entangle(Y, m, 2, "easy", n_jobs=1)),
    "tp_bound": ((N, 3), lambda m: tp_bound(Y, m, LEAVES)),
    "linear_bound": ((L, 3), lambda m: linear_bound(Y, GROUPS[:, :3], m)),
    "impute X": ((N, F), lambda m: impute(m, GROUPS, GROUP_LABELS, n_jobs=1)),
    "impute groups": ((N, G), lambda m: impute(X, m, GROUP_LABELS, n_jobs=1)),
    "impute labels": ((G, L), lambda m: impute(X, GROUPS, m, n_jobs=1)),
    "group embeddings": (
        (N, G),
        lambda m: group_label_embeddings(X, m, GROUP_LABELS, n_jobs=1),
    ),
    "spread": ((N, G), lambda m: spread(m, GROUP_LABELS)),
    "within_spread": ((N, G), lambda m: within_spread(X, m)),
    "eagle": ((N, G), lambda m: Eagle(XRLinear(n_jobs=1), n_jobs=1).fit(X, m, GROUP_LABELS)),
    "evaluate truth": ((N, L), lambda m: evaluate(FOUND, m)),
    "evaluate predictions": ((N, L), lambda m: evaluate(m, Y)),
    "set_scores": ((N, L), lambda m: set_scores(m, Y)),
    "inverse_propensity": ((N, L), inverse_propensity),
    "frequency_bins": ((N, L), frequency_bins),
    "calibrated": ((N, L), lambda m: Calibrated().fit(FOUND, m)),
    "threshold": ((N, L), lambda m: GlobalThreshold().fit(FOUND, m)),
    "label thresholds": ((N, L), lambda m: LabelThresholds().fit(FOUND, m)),
    "filter_pairs": ((N, L), lambda m: filter_pairs(FOUND, m, [[0, 0]], convention="both")),
    "from_csr": ((N, L), lambda m: Predictions.from_csr(m, 3)),
}
