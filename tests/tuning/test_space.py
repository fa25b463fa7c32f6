"""Search spaces: declared with the settings, for every model; and given by hand."""

from __future__ import annotations

import json

import numpy as np
import optuna
import pytest

from multitudes import ConfigError, Dataset, Tagger
from multitudes.config import Search, among, between
from multitudes.models import built_in_models
from multitudes.tagger.assembly import assemble
from multitudes.tuning import parse_search
from multitudes.tuning.space import search_space
from tests.tuning.toy import toy_tagger

TEXTS = Dataset.from_lists(["a red belt", "a blue belt"], [["red"], ["blue"]])


def every_value(search: Search) -> list:
    return list(search.choices) or [search.low, search.high]


@pytest.mark.parametrize("model", built_in_models())
def test_each_declared_value_is_one_that_the_model_takes(model):
    space = search_space(Tagger(model), TEXTS)
    assert len(space) >= 2
    for one in space.dimensions:
        assert one.search.including(one.default) == one.search
        for value in every_value(one.search):
            overlap = {"overlap": 2} if one.needs_overlap else {}
            tagger = Tagger(model, settings={**overlap, one.name: value})
            assemble(tagger._spec(), TEXTS, from_groups=False)


@pytest.mark.parametrize("features", ["tfidf", "chars", "words-bigrams", "hashing"])
def test_features_are_searched_around_what_was_asked_for(features):
    space = search_space(Tagger("one-vs-all", features=features), TEXTS)
    ngrams = next(one for one in space.dimensions if one.name.endswith("ngrams"))
    assert ngrams.default in ngrams.search.choices
    assert {"solver.cost", "features.sublinear_tf"} <= set(space.names)


def test_the_first_trial_is_the_default_and_others_are_near():
    space = search_space(Tagger("xr-linear"), TEXTS)
    study = optuna.create_study()
    study.enqueue_trial(space.defaults())
    assert space.draw(study.ask()) == {}
    for number in range(20):
        study.enqueue_trial(space.near_default(np.random.default_rng(number)))
        drawn = space.draw(study.ask())
        assert 1 <= len(drawn) <= 3
        Tagger("xr-linear", settings=json.loads(json.dumps(drawn))).check()  # as a study keeps it


def test_numbers_have_few_digits_and_stay_in_range():
    space = search_space(toy_tagger(), TEXTS, {"spoil": between(0.1234567, 0.9)})
    study = optuna.create_study()
    values = {space.draw(study.ask())["spoil"] for _ in range(30)}
    assert all(float(f"{value:.3g}") == value for value in values)


def test_what_needs_overlap_is_only_drawn_with_it():
    wanted = {"overlap": among(1, 2), "rounds": among(1, 2, 3)}
    space = search_space(Tagger("xr-linear"), TEXTS, wanted)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    drawn = [space.draw(study.ask()) for _ in range(40)]
    assert any("rounds" in one for one in drawn)
    assert all("overlap" in one for one in drawn if "rounds" in one)
    with pytest.raises(ConfigError, match="several leaves"):
        search_space(Tagger("xr-linear"), TEXTS, {"rounds": among(1, 2)})
    assert search_space(
        Tagger("xr-linear", settings={"overlap": 2}), TEXTS, {"rounds": among(1, 2)}
    )


def test_a_default_outside_of_the_range_joins_it():
    space = search_space(toy_tagger(), TEXTS, {"spoil": between(0.1, 0.2)})
    assert space.described() == {"spoil": "0.1 to 0.6"}
    with pytest.raises(ConfigError, match="is 'sweet' by default"):
        search_space(toy_tagger(), TEXTS, {"flavor": between(1, 2)})


def test_values_are_checked_at_once_and_ranges_suit_the_setting():
    found = search_space(Tagger("xr-linear"), TEXTS, {"solver.cost": between(1, 10)})
    assert not found.dimensions[0].search.is_whole
    with pytest.raises(ConfigError, match="cost must be > 0, got -5"):
        search_space(Tagger("xr-linear"), TEXTS, {"solver.cost": between(-5, 1)})
    with pytest.raises(ConfigError, match="loss must be one of"):
        search_space(Tagger("xr-linear"), TEXTS, {"solver.loss": among("hinge", "square")})


def test_searches_as_the_command_line_gives_them():
    assert parse_search(
        ["branching", "solver.cost=log:0.1..10", "a=1..3", 'b=["x",null]', "c=[[1,1],[1,2]]"]
    ) == {
        "branching": None,
        "solver.cost": between(0.1, 10, log=True),
        "a": between(1, 3),
        "b": among("x", None),
        "c": among((1, 1), (1, 2)),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("=1..2", "has a name"),
        ("a=", "cannot read"),
        ("a=5", "cannot read"),
        ("a=1..", "cannot read"),
        ("a=x..y", "cannot read"),
        ("a=[", "cannot read"),
        ("a=[]", "needs values"),
        ("a=3..1", "must rise"),
        ("a=1..nan", "numbers as its ends"),
        ("a=1..inf", "numbers as its ends"),
        ("a=log:0..1", "above 0"),
    ],
)
def test_searches_that_cannot_be_read(text, message):
    with pytest.raises(ConfigError, match=message):
        parse_search([text])
