"""Predictions among some labels: exact for every model, and rows stay full."""

from __future__ import annotations

import numpy as np
import pytest

from multitudes.data import Dataset, make_catalogue
from multitudes.errors import DataError
from multitudes.linear import tree_estimator
from multitudes.tagger import Among, Tagger, predict_batches, predict_tags
from multitudes.tagger.restriction import best_among, only
from multitudes.types import Predictions


@pytest.fixture(scope="module")
def shop() -> Dataset:
    return make_catalogue(1500, n_labels=200, random_state=2).dataset


@pytest.fixture(
    scope="module",
    params=[("xr-linear", {}), ("parabel", {}), ("one-vs-all", {}), ("xr-linear", {"overlap": 2})],
    ids=["tree", "ensemble", "flat", "overlap"],
)
def tagger(request, shop) -> Tagger:
    name, settings = request.param
    small = {} if name == "one-vs-all" else {"max_leaf_size": 10, "beam_width": 2}
    return Tagger(name, settings=settings | small).fit(shop)


def test_rows_are_full_and_exact(tagger, shop):
    names = tagger.classes_[::40]
    ids = list(range(0, len(tagger.classes_), 40))
    found = predict_batches(tagger, shop[:50], top_k=3, among=Among(names))
    predictions = Predictions.joined([part for _, part in found])
    assert np.isin(predictions.labels, ids).all()  # no row has fewer than three
    # With a beam over all leaves, all labels are ranked; then those that count are picked.
    model, X = tagger.model_, tagger.features_.transform(shop.texts[:50])
    whole = model.predict(X, top_k=len(tagger.classes_), beam_width=10_000)
    expected = only(whole, np.array(ids)).top(3)
    same = np.isclose(predictions.scores, expected.scores, rtol=1e-3, atol=1e-6)
    assert same.mean() > 0.99


def test_more_leaves_than_are_all_searched(tagger, shop, monkeypatch):
    monkeypatch.setattr(tree_estimator, "EXACT_LEAVES", 1)
    names = tagger.classes_[::2]
    tags = predict_tags(tagger, shop.texts[:20], among=Among(names), top_k=2)
    assert {tag.label for row in tags for tag in row} <= set(names)


def test_only_new_leaves_out_what_is_there(tagger, shop):
    found = predict_batches(tagger, shop, top_k=4, among=Among(only_new=True))
    predictions = Predictions.joined([part for _, part in found])
    own = shop.Y.toarray() > 0
    listed = predictions.labels >= 0
    rows = np.repeat(np.arange(len(shop)), listed.sum(axis=1))
    names = [tagger.classes_[label] for label in predictions.labels[listed]]
    columns = [shop.label_names.index(name) for name in names]
    assert not own[rows, columns].any()
    assert (listed.sum(axis=1) == 4).mean() > 0.9  # the next best move up


def test_both_together(tagger, shop):
    names = tagger.classes_[:3]
    some = shop[:200]
    found = predict_batches(tagger, some, top_k=3, among=Among(names, only_new=True))
    rows = next(part.labels for _, part in found)
    counts = (rows >= 0).sum(axis=1)
    has = [len(set(some.labels_of(i)) & set(names)) for i in range(len(some))]
    assert counts.tolist() == [3 - n for n in has]


def test_an_unknown_name(tagger):
    wrong = tagger.classes_[0] + "x"
    with pytest.raises(DataError, match="did you mean"):
        predict_tags(tagger, ["text"], among=Among([wrong]))


class Plain:
    """A model that cannot restrict its search; it counts how often it is asked."""

    def __init__(self, scores, most=None):
        self.scores, self.most, self.asked = scores, most, []

    def predict(self, X, *, top_k=5):
        top_k = min(top_k, self.most or top_k)
        self.asked.append((len(X), top_k))
        scores = self.scores[np.asarray(X, int)]
        order = np.argsort(-scores, axis=1, kind="stable")[:, :top_k]
        return Predictions(
            order.astype(np.int32),
            np.take_along_axis(scores, order, axis=1).astype(np.float32),
            scores.shape[1],
        )


@pytest.mark.parametrize("cells", [50, 10_000_000])
def test_a_model_that_cannot_restrict_is_asked_for_more(monkeypatch, cells):
    monkeypatch.setattr("multitudes.tagger.restriction.CELLS_IN_MEMORY", cells)
    scores = np.random.default_rng(0).random((30, 100))
    labels = np.array([3, 50, 99])
    model = Plain(scores)
    found = best_among(model, list(range(30)), labels, top_k=2, n_labels=100)
    expected = labels[np.argsort(-scores[:, labels], axis=1)[:, :2]]
    assert found.labels.tolist() == expected.tolist()
    assert all(n * width <= max(cells, width) for n, width in model.asked[1:])


def test_a_model_that_lists_few_labels_gives_what_it_has():
    scores = np.tile(np.arange(100.0), (4, 1))
    found = best_among(
        Plain(scores, most=3), [0, 1, 2, 3], np.array([0, 98]), top_k=2, n_labels=100
    )
    assert found.labels.tolist() == [[98, -1]] * 4
    assert np.isneginf(found.scores[:, 1]).all()
