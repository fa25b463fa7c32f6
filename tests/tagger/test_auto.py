"""The model "auto" on data of more than 1,000 labels: a tree in which labels share leaves."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.data import Dataset, make_catalogue
from multitudes.disentangle import Disentangled
from multitudes.linear import OneVsAll, XRLinear
from multitudes.linear.checkpoint import Checkpoint
from multitudes.tagger import Tagger, presets

WHY = "because one ranker per label over 1,100 labels and 2,500 instances would be slow"


@pytest.fixture(scope="module", autouse=True)
def little_time():
    """One ranker per label would take less than a second here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(presets, "ONE_VS_ALL_SECONDS", 0.01)
        yield


@pytest.fixture(scope="module")
def shop(little_time):
    """2,500 catalogue lines with 1,100 labels."""
    return make_catalogue(2_500, n_labels=1_100, random_state=1).dataset


@pytest.fixture(scope="module")
def tagger(shop):
    return Tagger(n_jobs=2).fit(shop)


def test_labels_share_leaves_and_the_choice_says_why(tagger):
    assert isinstance(tagger.model_, Disentangled)
    assert isinstance(tagger.model_.model, XRLinear)
    assert tagger.model_.overlap == 2
    assert tagger.choice_.startswith(f"xr-linear with overlap 2, {WHY}")
    tree = tagger.model_.models_[0].tree_
    assert tree.n_slots > tree.n_labels


def test_it_is_the_model_that_overlap_asks_for(tagger, shop):
    asked = Tagger("xr-linear", settings={"overlap": 2}, n_jobs=2).fit(shop)
    assert asked.predict(shop.texts[:50]) == tagger.predict(shop.texts[:50])


def test_all_that_a_tagger_does_works(tagger, shop, tmp_path):
    text = shop.texts[0]
    label = tagger.predict([text], top_k=1)[0][0].label
    assert tagger.explain(text, label).label == label
    assert tagger.senses(label)
    assert tagger.ambiguous_labels(top_k=3)
    tagger.save(tmp_path / "model")
    again = Tagger.load(tmp_path / "model")
    assert again.choice_ == tagger.choice_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again.partial_fit([text], [[label]]).add_labels([text], [["new"]]).remove_labels([label])
    assert again.classes_[-1] == "new"
    assert label not in [tag.label for tag in again.predict([text], top_k=50)[0]]


def test_a_stopped_training_goes_on(tagger, shop, tmp_path):
    """The second fit finds the levels that the first one kept, and ends in the same model."""
    kept = tmp_path / "kept"
    keep = Checkpoint.keep

    class StoppedError(Exception):
        pass

    def stop_after_a_level(self, name, stage):
        keep(self, name, stage)
        if name == "level-0":
            raise StoppedError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "keep", stop_after_a_level)
        with pytest.raises(StoppedError):
            Tagger(n_jobs=2).fit(shop, checkpoint=kept)
    assert list(kept.rglob("level-*"))
    again = Tagger(n_jobs=2).fit(shop, checkpoint=kept)
    assert again.predict(shop.texts[:50]) == tagger.predict(shop.texts[:50])


def test_from_groups(shop):
    groups = sp.csr_array(sp.eye_array(len(shop), dtype=np.float32))
    grouped = Dataset(
        Y=sp.csr_array(shop.Y.shape, dtype=np.float32),
        texts=shop.texts,
        label_names=shop.label_names,
        groups=groups,
        group_labels=shop.Y,
    )
    found = Tagger(n_jobs=2).fit(grouped)
    assert isinstance(found.model_, Disentangled)
    assert found.choice_.endswith("; learned from groups")


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"overlap": 1}, "in far fewer steps"),
        ({"max_leaf_size": 1_100}, "without overlap, because one leaf holds all labels"),
    ],
)
def test_where_labels_share_no_leaves_it_is_a_plain_tree(shop, settings, why):
    found = Tagger(settings=settings, n_jobs=2).fit(shop)
    assert isinstance(found.model_, XRLinear)
    assert found.choice_.startswith(f"xr-linear, {WHY}")
    assert found.choice_.endswith(why)


def test_settings_of_overlap_need_no_asking_for_overlap(shop):
    Tagger(settings={"match_width": 1}).check()
    found = Tagger(settings={"match_width": 1}, n_jobs=2).fit(shop)
    assert found.model_.match_width == 1


def test_small_label_sets_are_as_before():
    small = make_catalogue(200, n_labels=30, random_state=1).dataset
    for settings in ({}, {"overlap": 1}):
        assert isinstance(Tagger(settings=settings).fit(small).model_, OneVsAll)
