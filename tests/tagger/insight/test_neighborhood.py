"""Where a label lives in a model."""

from __future__ import annotations

import numpy as np
import pytest

from multitudes import Tagger
from multitudes.data import make_catalogue
from multitudes.tagger.insight import (
    examples_of,
    n_texts_of,
    nearest_labels,
    other_names,
    path_to,
)
from multitudes.tagger.members import fused_tagger

SMALL = {"max_leaf_size": 4, "branching": 3}


@pytest.fixture(scope="module")
def shop():
    return make_catalogue(600, n_labels=40, random_state=1).dataset


@pytest.fixture(scope="module")
def tagger(shop):
    return Tagger("xr-linear", settings=SMALL, n_jobs=1).fit(shop)


def test_the_path_meets_every_label_once(tagger):
    tree = tagger.model_.tree_
    for label in range(len(tagger.classes_)):
        path = path_to(tagger, label, most=1000)
        assert len(path) == len(tree.offsets)
        met = [one for level in path for one in level]
        assert sorted([*met, label]) == list(range(len(tagger.classes_)))
        leaf = next(
            labels
            for labels in np.split(tree.slot_labels, tree.offsets[-1][1:-1])
            if label in labels
        )
        assert sorted([*path[-1], label]) == sorted(leaf.tolist())


def test_the_path_is_cut(tagger):
    path = path_to(tagger, 7, most=3)
    assert all(0 < len(level) <= 3 for level in path)
    assert all(
        set(cut) <= set(whole)
        for cut, whole in zip(path, path_to(tagger, 7, most=1000), strict=True)
    )


def test_labels_that_are_not_grouped_have_no_path(shop):
    assert path_to(Tagger("one-vs-all", n_jobs=1).fit(shop), 3) == []


def test_nearest_by_weights(shop):
    tagger = Tagger("one-vs-all", n_jobs=1).fit(shop)
    level = tagger.model_.levels_[0]
    n = len(tagger.classes_)
    chunk = level.chunk(0, 0, n)
    dense = np.zeros((len(chunk.row_feature), n))
    rows = np.repeat(np.arange(len(chunk.row_feature)), np.diff(chunk.row_entry))
    dense[rows, chunk.entry_child] = chunk.entry_value
    by_label = dense[:, np.argsort(tagger.model_.tree_.slot_labels)]
    unit = by_label / np.linalg.norm(by_label, axis=0)
    found = nearest_labels(tagger, 5, top_k=6)
    cosines = unit.T @ unit[:, 5]
    cosines[5] = -2
    assert [one.label for one in found] == np.argsort(-cosines, kind="stable")[:6].tolist()
    assert [one.similarity for one in found] == pytest.approx(np.sort(cosines)[::-1][:6], abs=1e-5)


def test_examples_are_those_of_the_label(shop):
    settings = SMALL | {"overlap": 2}
    tagger = Tagger("xr-linear", settings=settings, n_jobs=1).fit(shop)
    label = int(np.bincount(shop.Y.indices).argmax())
    rows = np.flatnonzero(shop.Y[:, [label]].toarray())
    shown = examples_of(tagger, label, most=3)
    assert len(shown) == 3
    have = {" ".join(shop.texts[row].split())[:60] for row in rows}
    assert all(text[:60] in have for text in shown)
    assert examples_of(Tagger("xr-linear", n_jobs=1).fit(shop), label) == []


def test_an_ensemble_says_what_its_members_know(shop, tagger):
    names = Tagger("lexical").fit(shop)
    whole = fused_tagger({"names": names, "tree": tagger})
    label = whole.classes_.index(tagger.classes_[7])
    assert other_names(whole, label) == [tagger.classes_[7]]
    own = [[tagger.classes_[one] for one in level] for level in path_to(tagger, 7)]
    assert [[whole.classes_[one] for one in level] for level in path_to(whole, label)] == own
    near = [tagger.classes_[one.label] for one in nearest_labels(tagger, 7)]
    assert [whole.classes_[one.label] for one in nearest_labels(whole, label)] == near
    assert other_names(tagger, 7) == []


def test_how_many_texts_a_label_was_learned_from(shop, tagger):
    assert n_texts_of(tagger, 7) is None
    members = {"one": tagger, "two": Tagger("one-vs-all", n_jobs=1).fit(shop[:400])}
    assert n_texts_of(fused_tagger(members), 7) is None
    whole = fused_tagger(members, shop[400:], train=shop[:400])
    counts = {shop.label_name(label): int(n) for label, n in enumerate(shop[:400].Y.sum(axis=0))}
    found = {name: n_texts_of(whole, label) for label, name in enumerate(whole.classes_)}
    assert found == {name: counts[name] for name in whole.classes_}
