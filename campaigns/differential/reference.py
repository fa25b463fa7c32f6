"""Solvers, features, metrics and calibration against scikit-learn."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from campaigns.differential.problems import Rng, drawn_problem, drawn_texts, hold

MARGIN = 5e-3  # of solvers that stop within 1e-5 of the optimum, in both libraries


def hinge(rng: Rng) -> None:
    """One-vs-all, run to convergence, has the margins of liblinear."""
    from sklearn.svm import LinearSVC

    loss = str(rng.choice(["squared-hinge", "hinge"]))
    theirs = LinearSVC(
        C=1.0, tol=1e-8, max_iter=100_000, random_state=0, loss=loss.replace("-", "_"), dual=True
    )
    _check_solver(rng, loss, theirs)


def logistic(rng: Rng) -> None:
    """The same of logistic regression."""
    from sklearn.linear_model import LogisticRegression

    theirs = LogisticRegression(
        C=1.0, tol=1e-8, max_iter=100_000, random_state=0, solver="liblinear", dual=True
    )
    _check_solver(rng, "logistic", theirs)


def _check_solver(rng: Rng, loss: str, theirs: object) -> None:
    import warnings

    from multitudes import OneVsAll
    from multitudes.linear import SolverConfig

    problem = drawn_problem(rng, n_labels=int(rng.integers(1, 20)))
    solver = SolverConfig(loss=loss, epsilon=1e-5, max_epochs=20_000, threshold=0)
    model = OneVsAll(solver=solver, weights="float32", score_function="raw", n_jobs=1)
    found = model.fit(problem.X, problem.Y).predict(problem.asked, top_k=problem.Y.shape[1])
    scores = np.empty_like(found.scores)
    np.put_along_axis(scores, found.labels, found.scores, axis=1)
    for label in range(problem.Y.shape[1]):
        y = problem.Y[:, [label]].toarray().ravel()
        if 0 < y.sum() < len(y):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs.fit(problem.X.toarray(), y)  # type: ignore[attr-defined]
                margins = theirs.decision_function(problem.asked.toarray())  # type: ignore[attr-defined]
            hold(scores[:, label], margins, f"{loss}, label {label}", atol=MARGIN, rtol=MARGIN)


def tfidf(rng: Rng) -> None:
    """Words, pairs of words and limits of frequency count as in scikit-learn."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    from multitudes.features import TOKEN_PATTERN, TfidfFeatures

    texts, asked = drawn_texts(rng, int(rng.integers(2, 60))), drawn_texts(rng, 10)
    texts[0] = "ash oak"
    ngrams = [(1, 1), (1, 2), (2, 3)][rng.integers(3)]
    chosen = {
        "sublinear_tf": bool(rng.integers(2)), "min_df": int(rng.choice([1, 1, 2])),
        "lowercase": bool(rng.integers(2)),
    }  # fmt: skip
    ours = TfidfFeatures(word_ngrams=ngrams, n_jobs=int(rng.integers(1, 4)), **chosen)
    theirs = TfidfVectorizer(token_pattern=TOKEN_PATTERN, ngram_range=ngrams, **chosen)
    try:
        theirs.fit(texts)
    except ValueError:  # no term is frequent enough; ours says so in its own way
        return
    ours.fit(texts)
    for lines in (texts, asked):
        hold(
            ours.transform(lines).toarray(), theirs.transform(lines).toarray(), "tf-idf", atol=1e-6
        )


def metrics(rng: Rng) -> None:
    """Metrics at k by their definition, of sets as in scikit-learn."""
    from sklearn.metrics import precision_recall_fscore_support

    from multitudes.metrics import evaluate, set_scores
    from multitudes.types import Predictions

    n, n_labels = int(rng.integers(1, 40)), int(rng.integers(2, 30))
    truth = (rng.random((n, n_labels)) < rng.choice([0.05, 0.3])).astype(np.float32)
    scores = np.round(rng.random((n, n_labels)), 1) * (rng.random((n, n_labels)) < 0.4)
    ranked = Predictions.from_csr(sp.csr_array(scores.astype(np.float32)), 7)
    report = evaluate(ranked, sp.csr_array(truth), ks=(1, 3))
    for k in (1, 3):
        expected = _at_k(ranked.labels[:, :k], truth, k)
        for name, value in expected.items():
            hold(report[f"{name}@{k}"], value, f"{name}@{k}", atol=1e-6)
    found = ranked.to_csr() != 0
    occurring = np.flatnonzero(truth.any(axis=0) | (found.toarray() != 0).any(axis=0))
    for average in ("micro", "macro", "weighted", "example") if len(occurring) else ():
        theirs = precision_recall_fscore_support(
            truth, found.toarray(), labels=occurring, zero_division=0,
            average="samples" if average == "example" else average,
        )  # fmt: skip
        ours = set_scores(sp.csr_array(found), sp.csr_array(truth), average=average)
        hold(tuple(ours), theirs[:3], f"{average} of sets", atol=1e-6)


def _at_k(labels: np.ndarray, truth: np.ndarray, k: int) -> dict[str, float]:
    """Precision, recall and nDCG at k, instance by instance."""
    rows = {"P": [], "R": [], "nDCG": []}  # type: dict[str, list[float]]
    for listed, row in zip(labels, truth, strict=True):
        hits = [float(label >= 0 and row[label] > 0) for label in listed] + [0.0] * k
        n_true = int(row.sum())
        gain = sum(hit / np.log2(rank + 2) for rank, hit in enumerate(hits[:k]))
        ideal = sum(1 / np.log2(rank + 2) for rank in range(min(k, n_true)))
        rows["P"].append(sum(hits[:k]) / k)
        rows["R"].append(sum(hits[:k]) / n_true if n_true else 0.0)
        rows["nDCG"].append(gain / ideal if ideal else 0.0)
    return {name: float(np.mean(values)) for name, values in rows.items()}


def isotonic(rng: Rng) -> None:
    """Calibration is scikit-learn's isotonic regression, but for the clipping at its ends."""
    from sklearn.isotonic import IsotonicRegression

    from multitudes.scores import IsotonicCalibration
    from multitudes.types import Predictions

    n, n_labels = int(rng.integers(20, 200)), int(rng.integers(2, 12))
    scores = rng.random((n, n_labels)).astype(np.float32)
    truth = (rng.random((n, n_labels)) < scores * rng.random()).astype(np.float32)
    if not truth.any() or truth.all():
        return
    ranked = Predictions.from_csr(sp.csr_array(scores), n_labels)
    hits = np.take_along_axis(truth, ranked.labels, axis=1)
    peer = IsotonicRegression(out_of_bounds="clip").fit(ranked.scores.ravel(), hits.ravel())
    found = IsotonicCalibration().fit(ranked, sp.csr_array(truth)).apply(ranked)
    expected = peer.predict(ranked.scores.ravel())
    hold(found.scores.ravel(), expected, "probabilities", atol=2 / hits.size)


TARGETS = {
    "hinge": hinge,
    "logistic": logistic,
    "tf-idf": tfidf,
    "metrics": metrics,
    "isotonic": isotonic,
}
