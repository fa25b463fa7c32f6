"""Stored ensembles: what is stored once, what must fit, and what nobody would have stored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from multitudes import Ensemble, OneVsAll, TfidfFeatures
from multitudes.errors import StoreError
from multitudes.fusion import FusionReport, HeldOutConfig, RankFusion
from tests.contract.cases import features, texts

CHARS = {"word_ngrams": None, "char_ngrams": (2, 3)}


@pytest.fixture(scope="module")
def over_texts():
    """Three members over texts, two of which share features."""
    shared = TfidfFeatures()
    members = {
        "a": (shared, OneVsAll()), "b": (TfidfFeatures(**CHARS), OneVsAll()),
        "c": (shared, OneVsAll()),
    }  # fmt: skip
    settings = {"candidates": 7, "random_state": 3, "held_out": HeldOutConfig(share=0.2)}
    return Ensemble(members, fusion="rank", **settings).fit(*texts())


@pytest.fixture(scope="module")
def over_features():
    return Ensemble([("a", OneVsAll())], fusion=RankFusion(constant=2.0)).fit(*features())


def configured(ensemble, **changes):
    """The state of an ensemble with another config."""
    state = ensemble.to_state()
    return replace(state, config={**state.config, **changes})


def test_it_is_built_again_with_its_settings(over_texts, over_features):
    again = Ensemble.from_state(over_texts.to_state())
    for name in ("fusion", "candidates", "random_state", "held_out"):
        assert getattr(again, name) == getattr(over_texts, name)
    assert [name for name, _ in again.members] == ["a", "b", "c"]
    assert all(isinstance(one, tuple) for _, one in again.members)
    assert isinstance(again.report_, FusionReport)
    assert again.report_ == over_texts.report_
    np.testing.assert_array_equal(again.label_counts_, over_texts.label_counts_)
    assert again.label_counts_.flags.writeable
    assert (again.n_labels_, again.takes_texts_) == (6, True)
    assert not hasattr(again, "n_features_in_")
    again = Ensemble.from_state(over_features.to_state())
    assert (again.fusion, again.fusion_.constant) == ("rank", 2.0)
    assert (again.n_features_in_, again.takes_texts_) == (40, False)
    assert isinstance(again.members[0][1], OneVsAll)


def test_features_that_members_share_are_stored_once(over_texts):
    state = over_texts.to_state()
    assert sorted(state.parts) == [
        "features-0", "features-1", "fusion", "model-0", "model-1", "model-2",
    ]  # fmt: skip
    assert [one["features"] for one in state.config["members"]] == [0, 1, 0]
    shared = [one.features for one in Ensemble.from_state(state).members_]
    assert shared[0] is shared[2] is not shared[1]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([], "members must be a list of at least one"),
        (None, "members must be a list of at least one"),
        ({"name": "a", "features": None}, "members must be a list of at least one"),
        (["a"], r"members\[0\] must have a name and features"),
        ([{"name": "a"}], r"members\[0\] must have a name and features"),
        ([{"name": 3, "features": None}], r"members\[0\] must have a name and features"),
        ([{"name": "a", "features": 1}], r"members\[0\] must have features that there are"),
        ([{"name": "a", "features": -1}], r"members\[0\] must have features that there are"),
        ([{"name": "a", "features": True}], r"members\[0\] must have features that there are"),
        (
            [{"name": "a", "features": 0}, {"name": "b", "features": 2}],
            r"members\[1\] must have features that there are",
        ),
        (
            [{"name": "a", "features": 0}, {"name": "a", "features": 1},
             {"name": "c", "features": 0}],
            "names of members",
        ),
        ([{"name": "a", "features": None}], "part .features-0. is not one that it has"),
    ],
)  # fmt: skip
def test_members_that_nobody_stored(over_texts, members, message):
    Ensemble.check_state(over_texts.to_state())
    with pytest.raises(StoreError, match=message):
        Ensemble.check_state(configured(over_texts, members=members))


REPORT = {"fusion": "rank", "n_held_out": 0, "members": {}, "fusions": {}}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fusion", "average"), ("candidates", 0), ("random_state", -1), ("takes_texts", 1),
        ("n_features", -1), ("held_out", {"share": 2}), ("report", None),
        ("report", {**REPORT, "fusion": "auto"}), ("report", {**REPORT, "more": 1}),
        ("report", {**REPORT, "n_held_out": "x"}), ("report", {**REPORT, "members": {"a": "x"}}),
        ("report", {**REPORT, "fusions": {"a": "x"}}), ("report", {**REPORT, "fusions": [0.5]}),
        ("report", {**REPORT, "members": {"a": None}}), ("report", {**REPORT, "n_held_out": None}),
    ],
)  # fmt: skip
def test_settings_that_nobody_stored(over_features, name, value):
    Ensemble.check_state(configured(over_features, report=REPORT))
    with pytest.raises(StoreError, match=name):
        Ensemble.check_state(configured(over_features, **{name: value}))


def test_members_fit_the_ensemble(over_texts, over_features):
    state = over_features.to_state()
    with pytest.raises(StoreError, match="the number of features: 39 and 40"):
        Ensemble.from_state(configured(over_features, n_features=39))
    with pytest.raises(StoreError, match="the number of features: None and 40"):
        Ensemble.from_state(configured(over_features, n_features=None))
    label_map = np.arange(39)
    with pytest.raises(StoreError, match="the number of labels: 40 and 39"):
        Ensemble.from_state(replace(state, arrays={**state.arrays, "labels-0": label_map}))
    of_texts = over_texts.to_state()
    swapped = {**of_texts.parts, "features-0": of_texts.parts["features-1"]}
    with pytest.raises(StoreError, match="the number of features"):
        Ensemble.from_state(replace(of_texts, parts=swapped))
    with pytest.raises(StoreError, match="member 'a' is a TfidfFeatures"):
        Ensemble.from_state(
            replace(of_texts, parts={**of_texts.parts, "model-0": of_texts.parts["features-0"]})
        )
    with pytest.raises(StoreError, match="features of 'a' are a OneVsAll"):
        Ensemble.from_state(
            replace(of_texts, parts={**of_texts.parts, "features-0": of_texts.parts["model-0"]})
        )


def test_fusion_and_labels_fit_the_members(over_texts):
    state = over_texts.to_state()
    for name, n, what in (("n_members", 2, "members"), ("n_labels", 5, "labels")):
        fusion = state.parts["fusion"]
        fusion = replace(fusion, config={**fusion.config, name: n})
        with pytest.raises(StoreError, match=f"the number of {what}"):
            Ensemble.check_state(replace(state, parts={**state.parts, "fusion": fusion}))
    for label_map in ([0, 1, 2, 3, 4, 6], [0, 1, 2, 3, 4, -2]):
        arrays = {**state.arrays, "labels-1": np.array(label_map)}
        with pytest.raises(StoreError, match="labels-1"):
            Ensemble.check_state(replace(state, arrays=arrays))
    arrays = {**state.arrays, "labels-1": np.array([0, 1, 2, 3, 5, -1])}
    Ensemble.check_state(replace(state, arrays=arrays))
    mapped = Ensemble.from_state(replace(state, arrays=arrays)).members_[1]
    assert mapped.label_map.tolist() == [0, 1, 2, 3, 5, -1]
    broken = {**state.arrays, "label_counts": np.full(6, np.nan, np.float32)}
    with pytest.raises(StoreError, match="label_counts"):
        Ensemble.check_state(replace(state, arrays=broken))
