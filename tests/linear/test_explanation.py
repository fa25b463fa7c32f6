"""Explanations add up: contributions to margins, and steps to the score."""

import json
from itertools import pairwise

import numpy as np
import pytest

from multitudes.errors import DataError, NotFittedError
from multitudes.labels import LabelTree
from multitudes.linear import OneVsAll, XRLinear

from .problems import dense, problem

SMALL = {"branching": 4, "max_leaf_size": 5}
SCORES = ("l1-hinge", "l3-hinge", "sigmoid", "log-sigmoid", "raw")


@pytest.fixture(scope="module")
def data():
    return problem(n=200, n_features=60, n_labels=80)


@pytest.fixture(scope="module")
def model(data):
    return XRLinear(**SMALL).fit(*data)


@pytest.mark.parametrize("weights", ["float32", "float16", "int8"])
def test_contributions_and_bias_add_up_to_the_margin_of_each_level(data, weights):
    X, Y = data
    model = XRLinear(**SMALL, weights=weights).fit(X, Y)
    matrices = [
        dense(level, offsets, X.shape[1])
        for level, offsets in zip(model.levels_, model.tree_.offsets, strict=True)
    ]
    slot_of = np.argsort(model.tree_.slot_labels)
    for row, label in ((0, 3), (17, 60), (99, 79)):
        x = X.toarray()[row]
        steps = model.explain(X[[row]], label).steps
        assert [step.level for step in steps] == list(range(model.tree_.depth))
        for step in steps:
            assert step.contributions.sum() + step.bias == pytest.approx(step.margin, abs=1e-9)
            child = slot_of[label] if step.level == model.tree_.depth - 1 else step.child
            own = matrices[step.level][child]
            np.testing.assert_allclose(step.contributions, (own * x)[step.features], rtol=1e-6)
            margin = own @ x + model.levels_[step.level].bias[child]
            assert step.margin == pytest.approx(margin, abs=1e-5)


@pytest.mark.parametrize("score", SCORES)
def test_steps_make_up_the_score_of_predict(data, score):
    X, Y = data
    model = XRLinear(**SMALL, score_function=score).fit(X, Y)
    join = np.sum if score in ("raw", "log-sigmoid") else np.prod
    for row in range(0, 200, 20):
        found = model.predict(X[[row]], top_k=3)
        for label, expected in zip(found.labels[0].tolist(), found.scores[0], strict=True):
            explained = model.explain(X[[row]], label)
            assert explained.label == label
            assert join([step.score for step in explained.steps]) == explained.score
            assert explained.score == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_the_path_leads_from_the_root_to_the_label(data, model):
    tree = model.tree_
    for label in (0, 41, 79):
        steps = model.explain(data[0][[5]], label).steps
        assert steps[0].cluster == 0
        assert steps[-1].child == label
        assert steps[-1].cluster == tree.leaf_of_label()[label]
        for above, below in pairwise(steps):
            assert above.child == below.cluster
            assert tree.parents(above.level)[above.child] == above.cluster


def test_strongest_features_come_first_and_only_those_of_the_instance(data, model):
    x = data[0][[4]]
    for step in model.explain(x, 9).steps:
        assert (np.diff(np.abs(step.contributions)) <= 0).all()
        assert np.isin(step.features, x.indices).all()
        assert len(set(step.features.tolist())) == len(step.features)


def test_a_label_that_the_beam_does_not_reach_is_explained_all_the_same(data, model):
    x = data[0][[0]]
    narrow, full = (model.predict(x, top_k=80, beam_width=w) for w in (1, 10**6))
    missed = np.setdiff1d(np.arange(80), narrow.labels[0])
    assert len(missed) > 0
    scores = full.to_csr().toarray()[0]
    for label in missed.tolist():
        assert model.explain(x, label).score == pytest.approx(scores[label], rel=1e-4, abs=1e-9)


def test_of_several_copies_the_best_is_explained(data):
    X, Y = data
    leaves = [list(range(45)), list(range(40, 80))]  # labels 40 to 44 live in both
    model = XRLinear(tree=LabelTree.from_leaves(leaves)).fit(X, Y)
    best = model.predict(X, top_k=80, beam_width=2, merge="max").to_csr().toarray()
    for row in range(0, 50, 7):
        for label in (39, 40, 44, 45):
            explained = model.explain(X[[row]], label)
            assert explained.score == pytest.approx(best[row, label], rel=1e-4, abs=1e-9)


def test_one_level_for_a_model_of_one_leaf(data):
    X, Y = data
    (step,) = OneVsAll().fit(X, Y).explain(X[[0]], 7).steps
    assert (step.level, step.cluster, step.child) == (0, 0, 7)


def test_an_instance_without_features_leaves_the_bias(data, model):
    explained = model.explain(data[0][[0]] * 0, 3)
    for step in explained.steps:
        assert step.contributions.sum() == 0
        assert step.margin == step.bias


def test_the_table_has_a_line_per_level(data, model):
    x = data[0][[0]]
    explained = model.explain(x, 3)
    names = [f"word{i}" for i in range(60)]
    head, *lines = explained.named(None, names).table(top=2).splitlines()
    assert head == f"label 3: score {explained.score:.4f}"
    assert len(lines) == model.tree_.depth
    for step, line in zip(explained.steps, lines, strict=True):
        strongest = f"word{step.features[0]} {step.contributions[0]:+.2f}"
        rest = f"{len(step.features) - 2} others {step.contributions[2:].sum():+.2f}"
        assert line == (
            f"  level {step.level}: score {step.score:.4f}, margin {step.margin:+.2f} = "
            f"{strongest}, word{step.features[1]} {step.contributions[1]:+.2f}, {rest}, "
            f"bias {step.bias:+.2f}"
        )


def test_the_table_names_features_by_number_where_there_are_no_names(data, model):
    explained = model.explain(data[0][[0]], 3)
    whole = explained.table(top=60)
    assert "others" not in whole
    assert f"= feature {explained.steps[0].features[0]} " in whole.splitlines()[1]


def test_an_explanation_takes_the_name_of_the_label_and_of_its_features(data, model):
    explained = model.explain(data[0][[0]], 3)
    named = explained.named("shoes", [f"word{i}" for i in range(60)])
    assert named.table().startswith(f"shoes: score {explained.score:.4f}")
    assert named.steps[0].words[0] == (
        f"word{explained.steps[0].features[0]}",
        explained.steps[0].contributions[0],
    )
    assert explained.named("shoes").steps[0].names is None
    document = json.loads(json.dumps(named.to_dict()))
    assert document["label"] == "shoes"
    assert [step["level"] for step in document["steps"]] == [s.level for s in explained.steps]
    assert document["steps"][0]["words"][0] == list(named.steps[0].words[0])


@pytest.mark.parametrize("label", [-1, 80, 1.0, "3", None, True])
def test_bad_label_ids_are_refused(data, model, label):
    with pytest.raises(DataError, match="label must be an id from 0 to 79, got"):
        model.explain(data[0][[0]], label)


@pytest.mark.parametrize("rows", [0, 2])
def test_one_instance_at_a_time(data, model, rows):
    with pytest.raises(DataError, match=f"one instance at a time, got {rows} rows"):
        model.explain(data[0][:rows], 0)


def test_other_features_and_unfitted_models_are_refused(data, model):
    with pytest.raises(DataError, match="x has 5 features, but XRLinear is expecting 60 features"):
        model.explain(data[0][[0], :5], 0)
    with pytest.raises(NotFittedError):
        XRLinear().explain(data[0][[0]], 0)
