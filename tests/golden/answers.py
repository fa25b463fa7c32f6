"""What every model answers to a fixed problem, the same on every machine up to rounding.

::

    python -m tests.golden.answers --write          # keep the answers of this machine
    python -m tests.golden.answers XRLinear tfidf   # print some as JSON, with a digest of all bits

`test_answers.py` holds this machine to the answers that are kept, and one number of threads to
another; `machines.py` does the same for processors with fewer instructions.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from multitudes.features import ConcatFeatures, HashingFeatures, TfidfFeatures
from multitudes.labels import build_tree, pifa
from multitudes.metrics import evaluate, inverse_propensity
from multitudes.scores import Calibrated
from multitudes.store import State
from multitudes.types import Predictions
from tests.contract.cases import CASES

KEPT = Path(__file__).parent / "answers.json"
N, N_LABELS, N_FEATURES = 600, 120, 150
ROWS, TOP_K = 12, 5  # of which the answers are kept

# By how much a score may differ between machines, and a score is a number about 1. Trees and
# one-vs-all are trained until they are within epsilon of the optimum, and sums are taken in the
# order that a processor's vectors prescribe.
TOLERANCE = 1e-4
NETWORKS = 0.02  # gradient descent, whose steps build on each other; may compute in bfloat16
TOLERANCES = {"Prime": NETWORKS, "OTSeq2Set": NETWORKS, "DeepMIML": NETWORKS}


@cache
def problem() -> tuple[Any, Any]:
    """X, Y of 600 instances and 120 labels: several blocks for several threads."""
    rng = np.random.default_rng(5)
    Y = rng.random((N, N_LABELS)) < 1 / N_LABELS
    Y[np.arange(N), rng.integers(0, N_LABELS, N)] = True
    own = rng.random((N_LABELS, N_FEATURES)) * (rng.random((N_LABELS, N_FEATURES)) < 0.04)
    X = Y @ own + rng.random((N, N_FEATURES)) * (rng.random((N, N_FEATURES)) < 0.05)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-6)
    return sp.csr_array(X.astype(np.float32)), sp.csr_array(Y.astype(np.float32))


@cache
def texts() -> list[str]:
    """Lines of made-up words, some of them in other scripts."""
    rng = np.random.default_rng(6)
    words = np.array([f"{a}{b}" for a in ("ba", "Ki", "lø", "мо", "日") for b in range(40)])
    return [" ".join(rng.choice(words, rng.integers(0, 12))) for _ in range(800)]


def trained(name: str, n_jobs: int | None) -> tuple[Predictions, Any]:
    """The predictions of a model for all its instances, and the model."""
    case = CASES[name]
    wide = name not in TOLERANCES and sp.issparse(case.data()[0])
    X, Y = problem() if wide else case.data()
    model = case.make()
    if "n_jobs" in model.get_params(deep=False):
        model.set_params(n_jobs=n_jobs)
    if "model__n_jobs" in model.get_params():
        model.set_params(model__n_jobs=n_jobs)
    with _threads(n_jobs, of_torch=name in TOLERANCES):
        fitted = fit_pairs(model, X, Y) if name == "Eagle" else case.fit(model, X, Y)
        return fitted.predict(X, top_k=TOP_K), fitted


def fit_pairs(model: Any, X: Any, Y: Any) -> Any:
    """Fit on groups of two instances, whose labels are all that either has."""
    pairs = sp.csr_array(np.kron(np.eye(N // 2, dtype=np.float32), [[1], [1]]))
    return model.fit(X, pairs, sp.csr_array((pairs.T @ Y > 0).astype(np.float32)))


def _threads(n_jobs: int | None, *, of_torch: bool) -> Any:
    if not of_torch:
        return nullcontext()
    from multitudes.deep.devices import torch_threads

    return torch_threads(n_jobs)


def ranked(name: str, n_jobs: int | None) -> dict[str, Any]:
    """Labels and scores of the first rows; a digest of all that was learned and predicted."""
    found, model = trained(name, n_jobs)
    arrays = [found.labels, found.scores, *arrays_of(model.to_state())]
    return {
        "labels": found.labels[:ROWS].tolist(),
        "values": found.scores[:ROWS].astype(float).tolist(),
        "digest": digest(arrays),
    }


def features(make: Callable[[int | None], Any], n_jobs: int | None) -> dict[str, Any]:
    """The first rows of a matrix of features."""
    X = make(n_jobs).fit_transform(texts())
    rows = X[:ROWS].toarray()[:, :2000]
    return {"values": rows[rows != 0].tolist(), "digest": digest([X.indptr, X.indices, X.data])}


def metrics(n_jobs: int | None) -> dict[str, Any]:
    """Every metric at k of a tree's predictions."""
    found, _ = trained("XRLinear", n_jobs)
    _, Y = problem()
    values = evaluate(found, Y, inverse_propensity=inverse_propensity(Y)).values
    return {"values": list(values.values()), "digest": digest([np.array(list(values.values()))])}


def probabilities(n_jobs: int | None) -> dict[str, Any]:
    """What isotonic calibration makes of a tree's scores."""
    ranked, _ = trained("XRLinear", n_jobs)
    _, Y = problem()
    found = Calibrated().fit(ranked, Y).probabilities(ranked)
    return {"values": found.scores[:ROWS].astype(float).tolist(), "digest": digest([found.scores])}


def label_tree(n_jobs: int | None) -> dict[str, Any]:
    """Which labels share a leaf."""
    tree = build_tree(pifa(*problem(), n_jobs=n_jobs), branching=4, max_leaf_size=5, n_jobs=n_jobs)
    return {"labels": tree.slot_labels.tolist(), "digest": digest([tree.slot_labels])}


ANSWERS: dict[str, Callable[[int | None], dict[str, Any]]] = {
    **{name: lambda n_jobs, name=name: ranked(name, n_jobs) for name in CASES},
    "tfidf": lambda n_jobs: features(lambda n: TfidfFeatures(n_jobs=n), n_jobs),
    "hashing": lambda n_jobs: features(
        lambda n: HashingFeatures(n_features=2000, n_jobs=n), n_jobs
    ),
    "concat": lambda n_jobs: features(
        lambda n: ConcatFeatures([TfidfFeatures(n_jobs=n), HashingFeatures(n_features=64)]), n_jobs
    ),
    "label tree": label_tree,
    "probabilities": probabilities,
    "metrics": metrics,
}
CORE = [name for name in ANSWERS if name not in TOLERANCES]


def arrays_of(state: State) -> list[Any]:
    """All arrays of a state and its parts."""
    own = [state.arrays[name] for name in sorted(state.arrays)]
    return own + [one for name in sorted(state.parts) for one in arrays_of(state.parts[name])]


def digest(arrays: list[Any]) -> str:
    """A hash of every bit."""
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()[:16]


def differences(name: str, found: dict[str, Any], kept: dict[str, Any]) -> list[str]:
    """What a machine answers otherwise, beyond the tolerance: nothing, if all is well.

    Labels may change places, or the last for another one, where their scores are as good as equal.
    """
    tolerance = TOLERANCES.get(name, TOLERANCE)
    if "values" not in kept:
        return [] if found["labels"] == kept["labels"] else ["other labels"]
    values, expected = np.array(found["values"]), np.array(kept["values"])
    if values.shape != expected.shape:
        return [f"{values.shape} values instead of {expected.shape}"]
    apart = np.abs(np.nan_to_num(values, neginf=0) - np.nan_to_num(expected, neginf=0))
    wrong = [f"values differ by {apart.max():.2g}"] if apart.max(initial=0) > tolerance else []
    found_labels = found.get("labels", [])
    for i, (ours, theirs) in enumerate(zip(found_labels, kept.get("labels", []), strict=True)):
        scores = dict(zip(ours, values[i], strict=True))
        for label, score in zip(theirs, expected[i], strict=True):
            if label >= 0 and abs(scores.get(label, expected[i][-1]) - score) > tolerance:
                wrong.append(f"row {i}: label {label} instead of {score:.5f}")
    return wrong


def main(arguments: list[str]) -> None:
    """Print answers as JSON, or keep them."""
    names = [name for name in arguments if name in ANSWERS] or list(ANSWERS)
    found = {name: ANSWERS[name](None) for name in names}
    if "--write" in arguments:
        kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
        for name, answer in found.items():
            kept[name] = {key: value for key, value in answer.items() if key != "digest"}
        lines = [f"{json.dumps(name)}: {json.dumps(rounded(kept[name]))}" for name in ANSWERS]
        KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    else:
        sys.stdout.write(json.dumps(found) + "\n")


def rounded(answer: Any) -> Any:
    """Numbers to 7 digits, which is what float32 has."""
    if isinstance(answer, dict):
        return {key: rounded(value) for key, value in answer.items()}
    if isinstance(answer, list):
        return [rounded(value) for value in answer]
    return float(f"{answer:.7g}") if isinstance(answer, float) else answer


if __name__ == "__main__":
    main(sys.argv[1:])
