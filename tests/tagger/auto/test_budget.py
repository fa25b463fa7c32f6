"""Tagger("auto", budget=...): from texts to a saved tagger, and what is refused."""

from __future__ import annotations

import time

import numpy as np
import pytest

from multitudes.data import Dataset, make_catalogue, split
from multitudes.errors import ConfigError, StoreError
from multitudes.fusion import Ensemble
from multitudes.linear import OneVsAll
from multitudes.tagger import Tagger

PLENTY = 60.0
SMALL = {"budget": PLENTY, "n_jobs": 1}


@pytest.fixture(scope="module")
def shop():
    return make_catalogue(900, n_labels=40, random_state=2).dataset


@pytest.fixture(scope="module")
def tagger(shop):
    return Tagger("auto", **SMALL).fit(shop)


def test_members_are_measured_and_the_best_are_taken(tagger, shop):
    report = tagger.auto_report_
    assert report.ended == "done"
    assert report.seconds < PLENTY
    assert {one.name for one in report.members} >= {"words", "names", "subwords, every label"}
    assert report.members[0].name == "words"
    assert report.n_held_out == 270
    best = max(one.alone.mean for one in report.members)
    assert isinstance(tagger.model_, Ensemble)
    assert report.fused.mean > best
    assert tagger.choice_.startswith("auto: ")
    assert tagger.score(shop) > 0.5


def test_it_is_saved_with_what_its_members_are_worth(tagger, shop, tmp_path):
    tagger.save(tmp_path / "model")
    again = Tagger.load(tmp_path / "model")
    assert again.auto_report_ == tagger.auto_report_
    assert (again.model, again.budget, again.choice_) == ("auto", PLENTY, tagger.choice_)
    assert again.predict(shop.texts[:20]) == tagger.predict(shop.texts[:20])


def test_a_stored_report_that_is_none_is_refused(tagger):
    state = tagger.to_state()
    for broken in ({}, {"members": 3}, [], tagger.auto_report_.to_dict() | {"fused": ["a", "b"]}):
        state.config["auto"] = broken
        with pytest.raises(StoreError, match="the report of auto"):
            Tagger.check_state(state)


def test_the_plan_is_shown_before_it_is_carried_out_and_only_if_asked_for(shop, capsys):
    some = shop.take(np.arange(500))
    Tagger("auto", **SMALL, verbose=True).fit(some)
    lines = capsys.readouterr().err.splitlines()
    plan = next(i for i, line in enumerate(lines) if line.startswith("plan for "))
    first = next(i for i, line in enumerate(lines) if line.startswith("words: P@1"))
    assert plan < first
    assert "150 instances held out" in lines[plan]
    assert lines[-1].endswith(" s)")
    Tagger("auto", **SMALL).fit(some.take(np.arange(300)))
    assert capsys.readouterr().err == ""


def test_few_instances_have_one_model_and_any_budget_will_do():
    for budget in ("10m", 1e-6):  # two rankers are cheaper than a tree of them
        tagger = Tagger("auto", budget=budget).fit(["red box", "blue car"], [["red"], ["blue"]])
        assert tagger.predict(["a red one"], top_k=1)[0][0].label == "red"
        assert isinstance(tagger.model_, OneVsAll)
        assert len(tagger.auto_report_.members) == 1


def test_features_instead_of_texts(shop):
    from multitudes.features import TfidfFeatures

    X = TfidfFeatures().fit_transform(shop.texts)
    data = Dataset(Y=shop.Y, X=X, label_names=shop.label_names)
    tagger = Tagger("auto", **SMALL).fit(data)
    assert {one.name for one in tagger.auto_report_.members} == {"words"}
    assert tagger.score(data) > 0.5


def test_validation_data_takes_the_place_of_what_is_held_out(shop):
    train, other = split(shop, test_size=0.2, random_state=0)
    tagger = Tagger("auto", **SMALL).fit(train, validation=other)
    assert tagger.auto_report_.n_held_out == len(other)
    assert not any("again" in one.outcome for one in tagger.auto_report_.members)


def test_settings_go_to_the_members_that_have_them(shop):
    settings = {"solver.cost": 0.5, "features.min_df": 2}
    tagger = Tagger("auto", **SMALL, settings=settings).fit(shop.take(np.arange(300)))
    assert tagger.model_.solver.cost == 0.5
    assert tagger.features_.min_df == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "parabel", "budget": "1m"}, "a budget is for the model 'auto'.*parabel was"),
        ({"budget": "a while"}, "a budget is a time to train in"),
        ({"budget": "1m", "settings": {"colour": 1}}, "there is no setting 'colour'"),
    ],
)
def test_what_is_refused_before_any_data_is_read(arguments, message):
    with pytest.raises(ConfigError, match=message):
        Tagger(**arguments).check()


def test_groups_and_checkpoints_have_no_budget(shop, tmp_path):
    with pytest.raises(ConfigError, match="keeps no checkpoint"):
        Tagger("auto", budget=5).fit(shop, checkpoint=tmp_path / "kept")
    with pytest.raises(ConfigError, match="labels of groups: leave out the budget"):
        Tagger("auto", budget=5).fit_groups(["a b", "c d"], [1, 2], {1: ["x"], 2: ["y"]})


def test_a_deadline_that_is_too_short_ends_with_the_first_member(shop):
    started = time.monotonic()
    tagger = Tagger("auto", budget=0.05, n_jobs=1).fit(shop)
    assert time.monotonic() - started < 30
    assert tagger.auto_report_.taken[0].name == "words"
    assert tagger.predict(shop.texts[:1], top_k=1)[0]
