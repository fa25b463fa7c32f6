"""The setting `overlap` of tree presets."""

from __future__ import annotations

import pytest

from multitudes.data import make_catalogue, split
from multitudes.disentangle import Disentangled
from multitudes.errors import ConfigError
from multitudes.linear import Parabel, XRLinear
from multitudes.models import model_spec
from multitudes.tagger import Tagger, describe_settings, evaluate_dataset
from multitudes.tagger.presets import default_features, full_model, make_model

SMALL = {"overlap": 2, "max_leaf_size": 20}


@pytest.fixture(scope="module")
def parts():
    return split(
        make_catalogue(2_000, n_labels=200, random_state=1).dataset, test_size=0.2, random_state=1
    )


@pytest.fixture(scope="module", params=["xr-linear", "parabel"])
def tagger(request, parts):
    return Tagger(request.param, settings={**SMALL, "merge": "max"}, random_state=3, n_jobs=1).fit(
        parts[0]
    )


def test_the_model_is_wrapped_and_every_setting_arrives(tagger):
    model = tagger.model_
    assert isinstance(model, Disentangled)
    assert (model.overlap, model.merge, model.random_state) == (2, "max", 3)
    assert (model.model.max_leaf_size, model.model.random_state, model.model.n_jobs) == (20, 3, 1)
    assert type(model.model) is {"xr-linear": XRLinear, "parabel": Parabel}[tagger.model]
    for part in model.models_:
        assert part.tree_.n_slots > part.tree_.n_labels


def test_it_tags_explains_and_comes_back_from_disk(tagger, parts, tmp_path):
    texts = parts[1].texts[:50]
    assert evaluate_dataset(tagger, parts[1])["P@1"] > 0.5
    tagger.save(tmp_path / "model")
    again = Tagger.load(tmp_path / "model", verify=True)
    assert again.predict(texts) == tagger.predict(texts)
    assert again.settings == tagger.settings
    label = tagger.predict(texts[:1], top_k=1)[0][0].label
    explained = again.explain(texts[0], label)
    assert explained.label == label
    assert len({step.tree for step in explained.steps}) == len(tagger.model_.models_)


@pytest.mark.parametrize("settings", [{}, {"overlap": 1}])
def test_without_overlap_the_model_is_the_plain_one(parts, settings):
    tagger = Tagger("xr-linear", settings=settings).fit(parts[0])
    assert isinstance(tagger.model_, XRLinear)


def test_auto_takes_a_tree(parts):
    tagger = Tagger(settings=SMALL).fit(parts[0])
    assert isinstance(tagger.model_.model, XRLinear)
    assert tagger.choice_ == "xr-linear, because labels can share leaves only in a tree"


def test_settings_of_overlap_are_described_with_the_others():
    for name in ("xr-linear", "parabel"):
        rows = {n: (value, doc) for n, value, doc in _described(name)}
        assert rows["overlap"] == (1, "Leaves of a label at most.")
        assert "model" not in rows
        assert {"branching", "solver.cost", "match_width", "features.min_df"} <= set(rows)
        assert all(doc for _, doc in rows.values())
    assert "overlap" not in {row[0] for row in _described("one-vs-all")}


def _described(name):
    return describe_settings(full_model(model_spec(name)), default_features(model_spec(name)))


def test_a_given_estimator_brings_its_own(parts):
    tagger = Tagger(Disentangled(XRLinear()), settings=SMALL).fit(parts[0])
    assert tagger.model_.model.max_leaf_size == 20


@pytest.mark.parametrize(
    ("model", "settings", "message"),
    [
        ("one-vs-all", {"overlap": 2}, "no leaves .* take xr-linear or parabel"),
        ("one-vs-all", {"overlap": 1}, "no leaves"),
        ("xr-linear", {"overlap": 0}, "overlap must be a whole number >= 1, got 0"),
        ("xr-linear", {"overlap": "two"}, "overlap must be a whole number >= 1, got 'two'"),
        ("auto", {"overlap": True}, "overlap must be a whole number >= 1, got True"),
        ("parabel", {"merge": "max"}, "'merge' is about labels .* add overlap=2"),
        ("auto", {"overlap": 1, "match_width": 1}, "'match_width' is about labels"),
        ("xr-linear", {"overlaps": 2}, "did you mean 'overlap'"),
    ],
)
def test_bad_settings_are_found_before_the_work(model, settings, message):
    with pytest.raises(ConfigError, match=message):
        Tagger(model, settings=settings).check()


def test_overlap_needs_as_many_leaves(parts):
    with pytest.raises(ConfigError, match="overlap is 2, but the tree has 1 leaves"):
        Tagger("xr-linear", settings={"overlap": 2, "max_leaf_size": 500}).fit(parts[0])


def test_making_a_model_leaves_the_settings_alone():
    settings = {"overlap": 1, "branching": 4}
    model, rest = make_model("xr-linear", settings)
    assert isinstance(model, XRLinear)
    assert rest == {"branching": 4}
    assert settings == {"overlap": 1, "branching": 4}
