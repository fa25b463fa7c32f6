"""Rows of the studies of label disentanglement: models, controls, reach and fused labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.disentangle.figures import draw
from benchmarks.disentangle.measure import fused, joined, measured, separated
from benchmarks.disentangle.models import only_reached, unfitted
from benchmarks.trees.data import Problem
from benchmarks.trees.long_tailed import long_tailed
from multitudes.types import Predictions

COMMON = {"tree": "xr-linear", "n_jobs": 1, "shape": {"max_leaf_size": 20}}
TWO = {**COMMON, "overlapping": {"overlap": 2}}


@pytest.fixture(scope="module")
def problem() -> Problem:
    return Problem(*long_tailed(450, n_test=60))


def test_controls_differ_from_overlap_in_what_they_should(problem: Problem) -> None:
    plain, ours = measured(problem, COMMON, 0), measured(problem, TWO, 0)
    random = measured(problem, {**TWO, "control": "random copies"}, 0)
    same = measured(problem, {**TWO, "control": "same reach"}, 0)
    one_leaf = measured(problem, {**COMMON, "control": "one leaf"}, 0)
    assert plain["copies"] == one_leaf["copies"] == 1
    assert 1 < random["copies"] == ours["copies"] <= 2
    assert same["within reach"] <= plain["within reach"] == one_leaf["within reach"]
    assert measured(problem, {**COMMON, "beam_width": 40}, 0)["within reach"] == 100


def test_ensembles_of_different_seeds_have_no_tree_in_common() -> None:
    states = [unfitted({**COMMON, "n_trees": 9}, seed).random_state for seed in range(3)]
    assert min(np.diff(states)) >= 9


def test_only_what_is_reached_is_kept_in_order() -> None:
    labels, scores = (
        np.array([[2, 0, 1], [1, -1, -1]], np.int32),
        np.array([[0.9, 0.5, 0.1], [0.3, -np.inf, -np.inf]], np.float32),
    )
    reached = sp.csr_array(np.array([[1, 1, 0], [1, 0, 1]], np.float32))
    found = only_reached(Predictions(labels, scores, 3), reached, top_k=2)
    assert found.labels.tolist() == [[0, 1], [-1, -1]]
    assert np.isneginf(found.scores[1]).all()


def test_gains_are_of_the_plain_tree(problem: Problem) -> None:
    found = fused(problem, {**TWO, "k": 2, "mode": "hard"}, 0)
    assert found["labels"] == 225
    expected = 100 * (found["P@5 overlap"] / found["P@5 plain"] - 1)
    assert found["P@5 gain %"] == pytest.approx(expected)


def test_a_label_in_one_leaf_does_not_come_apart() -> None:
    """Half of the instances show their label, all show its topic: by that members differ."""
    rng = np.random.default_rng(0)
    label = rng.integers(60, size=1500)  # 25 instances each, six topics
    Y = sp.csr_array(np.eye(60, dtype=np.float32)[label])
    topics = 2 * np.eye(6, dtype=np.float32)[label // 10]
    words = (rng.random((1500, 40)) < 0.05).astype(np.float32)
    X = sp.csr_array(np.hstack([Y.toarray() * (rng.random((1500, 1)) < 0.5), topics, words]))
    often = Problem(X, Y, X[:50], Y[:50])
    settings = {**COMMON, "shape": {"max_leaf_size": 4}, "k": 2, "mode": "hard"}
    assert separated(often, None, settings, 0)["apart"] == 0
    overlapping = {"overlap": 2, "match_width": 1}
    assert separated(often, None, {**settings, "overlapping": overlapping}, 0)["apart"] > 50


def test_columns_of_fused_labels_are_joined() -> None:
    Y = sp.csr_array(np.array([[1, 1, 0], [0, 0, 1]], np.float32))
    assert joined(Y, np.array([0, 0, 1])).toarray().tolist() == [[1, 0], [0, 1]]


def test_figures_are_drawn_of_rows(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    one = {
        "seeds": [0],
        "measures": {n: {"mean": 1.0, "margin": None} for n in ("P@5", "P@5 gain %")},
    }
    overlaps = dict.fromkeys(("baseline", "overlap 1", "random copies"), one)
    fusions = dict.fromkeys((f"{mode}, k = 2" for mode in ("easy", "medium", "hard")), one)
    assert all(path.exists() for path in draw({"small": overlaps}, {"small": fusions}, tmp_path))
