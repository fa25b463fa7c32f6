"""Problem 3: cross_val_score and GridSearchCV gave NaN with MultiLabelBinarizer's dense Y."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer

from multitudes import Disentangled, OneVsAll, Parabel, Tagger, XRLinear

WORDS = ["cat", "dog", "horse", "owl", "barn", "house", "wood", "lake"]
TEXTS = [f"{who} {where} {i}" for i in range(4) for who in WORDS[:4] for where in WORDS[4:]]
NAMES = [[word for word in WORDS if word in text] for text in TEXTS]
Y = MultiLabelBinarizer().fit_transform(NAMES)
TREE = {"branching": 2, "max_leaf_size": 2, "n_jobs": 1}
MODELS = {
    "XRLinear": XRLinear(**TREE),
    "Parabel": Parabel(n_trees=2, **TREE),
    "OneVsAll": OneVsAll(n_jobs=1),
    "Disentangled": Disentangled(XRLinear(**TREE)),
}
LABELS = {
    "lists": NAMES,
    "series": pd.Series(NAMES),
    "array of lists": pd.Series(NAMES).to_numpy(),
    "dense": Y,
    "dense frame": pd.DataFrame(Y, columns=sorted(WORDS)),
}


@pytest.fixture(scope="module", params=MODELS)
def pipeline(request):
    return make_pipeline(TfidfVectorizer(), MODELS[request.param])


def test_cross_val_score_of_a_model_with_dense_labels(pipeline):
    found = cross_val_score(pipeline, TEXTS, Y, cv=3)
    assert np.isfinite(found).all()
    assert found.mean() > 0.9


def test_grid_search_of_a_model_with_dense_labels(pipeline):
    words = [["nothing"], WORDS]  # without a known word, the same label is best everywhere
    search = GridSearchCV(pipeline, {"tfidfvectorizer__vocabulary": words}, cv=2).fit(TEXTS, Y)
    assert search.cv_results_["mean_test_score"][0] == 0.25
    assert search.best_params_ == {"tfidfvectorizer__vocabulary": WORDS}
    assert search.best_score_ > 0.9


@pytest.mark.parametrize("labels", LABELS)
def test_cross_val_score_of_a_tagger(labels):
    found = cross_val_score(Tagger("one-vs-all", n_jobs=1), TEXTS, LABELS[labels], cv=3)
    assert found.tolist() == [1.0, 1.0, 1.0]


def test_grid_search_of_a_tagger_over_names():
    settings = [{"solver.cost": 1e-9}, {"solver.cost": 1.0}]
    tagger = Tagger("one-vs-all", n_jobs=1)
    search = GridSearchCV(tagger, {"settings": settings}, cv=2, error_score="raise")
    search.fit(pd.Series(TEXTS), NAMES)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.predict(["an owl by the lake"], top_k=2).to_lists()[0] in (
        ["owl", "lake"],
        ["lake", "owl"],
    )


def all_metrics(tagger, texts, labels):
    return dict(tagger.evaluate(texts, labels, ks=(1, 2)).values)


def test_cross_validate_with_every_metric():
    tagger = Tagger("one-vs-all", n_jobs=1)
    found = cross_validate(tagger, TEXTS, NAMES, cv=2, scoring=all_metrics, error_score="raise")
    assert found["test_R@2"].tolist() == [1.0, 1.0]
    assert {"test_P@1", "test_nDCG@2", "test_macro-F1@2"} <= found.keys()


def test_labels_that_a_fold_has_not_seen_are_misses():
    names = [["only here"] if i < 16 else row for i, row in enumerate(NAMES)]
    found = cross_val_score(Tagger("one-vs-all", n_jobs=1), TEXTS, names, cv=4)
    assert found.tolist() == [0.0, 1.0, 1.0, 1.0]
