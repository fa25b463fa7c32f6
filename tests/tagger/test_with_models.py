"""The tagger with each model over features, on the catalogue."""

from __future__ import annotations

import pytest

from multitudes.data import make_catalogue, split
from multitudes.models import built_in_models
from multitudes.tagger import Tagger, evaluate_dataset

OVER_FEATURES = sorted(n for n, spec in built_in_models().items() if spec.reads == "features")


@pytest.fixture(scope="module")
def parts():
    return split(
        make_catalogue(1_500, n_labels=200, random_state=1).dataset, test_size=0.2, random_state=1
    )


@pytest.fixture(scope="module", params=OVER_FEATURES)
def tagger(request, parts) -> Tagger:
    return Tagger(request.param, random_state=1).fit(parts[0])


def test_learns_and_comes_back_from_disk(tagger, parts, tmp_path):
    assert evaluate_dataset(tagger, parts[1])["P@1"] > 0.5
    tagger.save(tmp_path / "model")
    loaded = Tagger.load(tmp_path / "model", verify=True)
    assert loaded.predict(parts[1].texts[:50]) == tagger.predict(parts[1].texts[:50])


def test_explains_the_best_label_by_words_of_the_text(tagger, parts):
    text = parts[1].texts[0]
    tag = tagger.predict([text], top_k=1)[0][0]
    explanation = tagger.explain(text, tag.label)
    assert explanation.label == tag.label
    words = {word for step in explanation.steps for word, _ in step.words}
    assert words
    assert words <= set(tagger.features_.feature_names)
    for step in explanation.steps:
        total = sum(value for _, value in step.words) + step.bias
        assert total == pytest.approx(step.margin, abs=1e-4)
    assert tag.label in explanation.table()


def test_single_tree_scores_are_the_explained_ones(parts):
    tagger = Tagger("xr-linear", random_state=1).fit(parts[0])
    for text in parts[1].texts[:5]:
        tag = tagger.predict([text], top_k=1)[0][0]
        assert tagger.explain(text, tag.label).score == pytest.approx(tag.score, rel=1e-3)


def test_settings_of_each_model_are_set_by_name(tagger):
    names = {"solver.cost": 0.5, "features.min_df": 2}
    fresh = Tagger(tagger.model, settings=names)
    fresh.fit(["red apple", "red apple", "green belt", "green belt"], [["a"], ["a"], ["b"], ["b"]])
    assert fresh.model_.solver.cost == 0.5
    assert fresh.features_.min_df == 2
