"""Our metrics against trec_eval's, where the two define the same thing."""

from __future__ import annotations

import numpy as np
import pytest
import pytrec_eval

from multitudes.metrics import evaluate, evaluate_sets, precision_at_k

KS = (1, 3, 5, 10)
AT_K = {"P": "P", "R": "recall", "nDCG": "ndcg_cut"}
OF_SETS = {"example-P": "set_P", "example-R": "set_recall", "example-F1": "set_F"}


def make_case(random_state: int, *, n: int = 120, n_labels: int = 40):
    """Named labels: rows without predictions, without truth, and more true labels than k."""
    rng = np.random.default_rng(random_state)
    names = np.array([f"label {i}" for i in range(n_labels)])

    def drawn(longest: int) -> list[str]:
        return rng.permutation(names)[: rng.integers(0, longest)].tolist()

    truth = [drawn(16) for _ in range(n)]
    ranked = [
        [(name, 1 / (rank + 2)) for rank, name in enumerate(drawn(13))]  # scores without ties
        for _ in range(n)
    ]
    return ranked, truth


def theirs(ranked, truth, measures: set[str]) -> dict[str, float]:
    """Means over the instances that have a true label: trec_eval knows no others."""
    qrel = {f"q{i}": dict.fromkeys(row, 1) for i, row in enumerate(truth)}
    run = {f"q{i}": dict(row) for i, row in enumerate(ranked)}
    found = pytrec_eval.RelevanceEvaluator(qrel, measures).evaluate(run)
    assert len(found) == sum(bool(row) for row in truth)
    names = next(iter(found.values()))
    return {name: float(np.mean([values[name] for values in found.values()])) for name in names}


@pytest.mark.parametrize("random_state", range(3))
def test_the_cases_are_awkward_enough(random_state):
    ranked, truth = make_case(random_state)
    assert any(not row for row in truth)
    assert any(not row for row in ranked)
    assert max(map(len, truth)) > max(KS)
    assert max(map(len, ranked)) > max(KS)


@pytest.mark.parametrize("metric", AT_K)
@pytest.mark.parametrize("random_state", range(3))
def test_at_k(random_state, metric):
    ranked, truth = make_case(random_state)
    name = AT_K[metric]
    expected = theirs(ranked, truth, {f"{name}.{','.join(map(str, KS))}"})
    report = evaluate(ranked, truth, ks=KS, skip_empty=True)
    for k in KS:
        assert report[f"{metric}@{k}"] == pytest.approx(expected[f"{name}_{k}"], abs=1e-9)


@pytest.mark.parametrize("random_state", range(3))
def test_sets(random_state):
    ranked, truth = make_case(random_state)
    expected = theirs(ranked, truth, set(OF_SETS.values()))
    report = evaluate_sets(ranked, truth, skip_empty=True)
    for ours, name in OF_SETS.items():
        assert report[ours] == pytest.approx(expected[name], abs=1e-9)


def test_where_the_definitions_differ():
    """The differences that docs/metrics.md lists, so that it can be mended when one goes away."""
    tied = [[("a", 0.5), ("b", 0.5)]]
    assert theirs(tied, [["b"]], {"P.1"})["P_1"] == 1  # of equal scores, the later name is first
    assert precision_at_k(tied, [["b"]], k=1) == 0  # the order given
    rows, truth = [[("a", 1.0)], [("a", 1.0)]], [["a"], []]
    assert theirs(rows, truth, {"P.1"})["P_1"] == 1  # instances without a true label are left out
    assert precision_at_k(rows, truth, k=1) == 1 / 2
    assert precision_at_k(rows, truth, k=1, skip_empty=True) == 1
    absent = pytrec_eval.RelevanceEvaluator({"q": {"a": 1}, "r": {"a": 1}}, {"P.1"})
    assert list(absent.evaluate({"q": {"a": 1.0}})) == ["q"]  # and those without any prediction
    assert precision_at_k([["a"], []], [["a"], ["a"]], k=1) == 1 / 2
