"""Our metrics against napkinXC's, run in its own environment, on random and awkward inputs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.errors import DataError
from multitudes.metrics import (
    evaluate,
    evaluate_sets,
    inverse_propensity,
    macro_f1_at_k,
    macro_precision_at_k,
    macro_recall_at_k,
    precision_at_k,
    set_scores,
)
from multitudes.types import Predictions

PEER = Path(__file__).resolve().parents[2] / ".peers" / "napkinxc" / "bin" / "python"
K = 5  # napkinXC's macro metrics ignore k and always stop at 5

MACRO = {
    "macro-P": macro_precision_at_k,
    "macro-R": macro_recall_at_k,
    "macro-F1": macro_f1_at_k,
}

pytestmark = pytest.mark.skipif(not PEER.exists(), reason=f"napkinXC is not installed in {PEER}")

SCRIPT = """
import json, sys
import numpy as np
from napkinxc import metrics as m
out = []
for case in json.load(sys.stdin):
    t, p, train, k = case["truth"], case["ranked"], case["train"], case["k"]
    w = m.Jain_et_al_inverse_propensity(train, A=case["a"], B=case["b"])
    out.append({
        "weights": w.tolist(),
        "P": m.precision_at_k(t, p, k=k).tolist(),
        "R": m.recall_at_k(t, p, k=k).tolist(),
        "nDCG": m.ndcg_at_k(t, p, k=k).tolist(),
        "PSP": m.psprecision_at_k(t, p, w, k=k).tolist(),
        "PSR": m.psrecall_at_k(t, p, w, k=k).tolist(),
        "PSnDCG": m.psndcg_at_k(t, p, w, k=k).tolist(),
        "macro-P": m.macro_precision_at_k(t, p, k=k).tolist(),
        "macro-R": m.macro_recall_at_k(t, p, k=k).tolist(),
        "macro-F1": m.macro_f1_measure_at_k(t, p, k=k).tolist(),
        "coverage": m.coverage_at_k(t, p, k=k).tolist(),
        "micro-F1": m.f1_measure(t, p, average="micro"),
        "macro-F1 of sets": m.f1_measure(t, p, average="macro"),
        "example-F1": m.f1_measure(t, p, average="samples"),
    })
print(json.dumps(out))
"""


def make_case(random_state, *, n=150, n_labels=30, a=0.55, b=1.5):
    """Tied scores, short rows, rows without predictions, and instances without labels."""
    rng = np.random.default_rng(random_state)
    scores = np.round(rng.random((n, n_labels)) * (rng.random((n, n_labels)) < 0.3), 1)
    scores[rng.random(n) < 0.1] = 0
    predictions = Predictions.from_csr(sp.csr_array(scores.astype(np.float32)), 12)
    likely = (scores + rng.random((n, n_labels))) * rng.random(n_labels)
    bar = rng.choice([0.2, 0.75, 2.0], n, p=[0.1, 0.8, 0.1])[:, None]  # many labels, some, none
    Y = sp.csr_array((likely > bar).astype(np.float32))
    train = [rng.permutation(n_labels)[: rng.integers(0, 4)].tolist() for _ in range(200)]
    train[0] = [n_labels - 1]  # napkinXC takes the largest id for the size of the label space
    predictions.labels[0, 0] = n_labels - 1
    predictions.labels[0, 1:] = -1
    return {
        "predictions": predictions,
        "Y": Y,
        "truth": [row.tolist() for row in np.split(Y.indices, Y.indptr[1:-1])],
        "ranked": [[x for x in row if x >= 0] for row in predictions.labels.tolist()],
        "train": train,
        "k": K,
        "a": a,
        "b": b,
    }


@pytest.fixture(scope="module")
def cases():
    return [make_case(0), make_case(1, n_labels=200), make_case(2, n=40, a=0.5, b=0.4)]


@pytest.fixture(scope="module")
def peer(cases):
    plain = ("truth", "ranked", "train", "k", "a", "b")
    sent = json.dumps([{name: case[name] for name in plain} for case in cases])
    done = subprocess.run(
        [str(PEER), "-c", SCRIPT], input=sent, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_the_cases_are_awkward_enough(cases):
    for case in cases:
        sizes = np.diff(case["Y"].indptr)
        assert (sizes == 0).any()
        assert (sizes > K).any()
        assert any(len(row) == 0 for row in case["ranked"])
        assert any(len(row) > K for row in case["ranked"])


@pytest.mark.parametrize("number", range(3))
def test_propensities(cases, peer, number):
    case = cases[number]
    found = inverse_propensity(case["train"], a=case["a"], b=case["b"])
    np.testing.assert_allclose(found, peer[number]["weights"], rtol=0, atol=1e-6)


@pytest.mark.parametrize("metric", ["P", "R", "nDCG", "PSP", "PSR", "PSnDCG", "coverage"])
@pytest.mark.parametrize("number", range(3))
def test_metrics_at_k(cases, peer, number, metric):
    case = cases[number]
    weights = inverse_propensity(case["train"], a=case["a"], b=case["b"])
    report = evaluate(
        case["predictions"], case["Y"], ks=range(1, K + 1), inverse_propensity=weights
    )
    found = [report[f"{metric}@{k}"] for k in range(1, K + 1)]
    np.testing.assert_allclose(found, peer[number][metric], rtol=0, atol=1e-6)


@pytest.mark.parametrize("metric", MACRO)
@pytest.mark.parametrize("number", range(3))
def test_macro_metrics_over_the_whole_label_space(cases, peer, number, metric):
    given = (cases[number]["predictions"], cases[number]["Y"])
    found = [MACRO[metric](*given, k=k, over="all") for k in range(1, K + 1)]
    np.testing.assert_allclose(found, peer[number][metric], rtol=0, atol=1e-6)


@pytest.mark.parametrize("number", range(3))
def test_metrics_of_sets(cases, peer, number):
    case = cases[number]
    report = evaluate_sets(case["predictions"], case["Y"])
    assert report["micro-F1"] == pytest.approx(peer[number]["micro-F1"], abs=1e-6)
    both = case["predictions"].to_csr() + case["Y"]
    share = np.count_nonzero(both.sum(axis=0)) / both.shape[1]  # its mean is over all labels
    expected = peer[number]["macro-F1 of sets"]
    assert report["macro-F1"] * share == pytest.approx(expected, abs=1e-6)
    assert report["example-F1"] == pytest.approx(peer[number]["example-F1"], abs=1e-6)


def test_where_the_definitions_differ():
    """The differences that docs/metrics.md lists, so that it can be mended when one goes away."""
    script = """if True:
        import json
        from napkinxc import metrics as m
        print(json.dumps([
            m.f1_measure([[0]], [[1]], average="samples", zero_division=1),
            len(m.macro_recall_at_k([[0, 2], [0]], [[0, 1], [1]], k=3)),
            m.precision_at_k([[0]], [[(1, 0.1), (0, 0.9)]], k=1)[0],
            m.precision_at_k([[0]], [[0, 0]], k=2)[1],
        ]))
    """
    done = subprocess.run([str(PEER), "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [1, 5, 0, 1]
    assert set_scores([[1]], [[0]], average="example", zero_division=1.0).f1 == 0
    assert precision_at_k([[(1, 0.1), (0, 0.9)]], [[0]], k=1) == 1
    with pytest.raises(DataError, match="listed 2 times"):
        precision_at_k([[0, 0]], [[0]], k=2)
