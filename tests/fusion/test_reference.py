"""References of an ensemble to folders of its members."""

from __future__ import annotations

import numpy as np
import pytest

from multitudes import Tagger
from multitudes.errors import StoreError
from multitudes.fusion.reference import LONGEST, Reference
from multitudes.store import loading
from multitudes.tagger.members import fused_tagger

TEXTS = ["red apple", "green pear", "red car", "green boat"] * 3
LABELS = [["fruit", "red"], ["fruit"], ["vehicle", "red"], ["vehicle"]] * 3
DIGEST = "0" * 64


@pytest.fixture
def folders(tmp_path):
    for name, model in (("a", "one-vs-all"), ("b", "xr-linear")):
        Tagger(model, n_jobs=1).fit(TEXTS, LABELS).save(tmp_path / name)
    return {name: tmp_path / name for name in ("a", "b")}


def fused(folders):
    taggers = {name: Tagger.load(folder) for name, folder in folders.items()}
    references = {name: Reference.of(folder) for name, folder in folders.items()}
    return fused_tagger(taggers, references=references)


def test_what_is_referred_to_is_loaded_in_the_same_way(folders, tmp_path, monkeypatch):
    fused(folders).save(tmp_path / "both")
    seen = []
    latest = loading._latest
    monkeypatch.setattr(
        loading, "_latest", lambda path, how, read: seen.append(how) or latest(path, how, read)
    )
    Tagger.load(tmp_path / "both", verify=True, in_memory=True)
    assert len(seen) == 3
    assert all(how.verify and how.in_memory for how in seen)
    seen.clear()
    Tagger.load(tmp_path / "both")
    assert not any(how.verify or how.in_memory for how in seen)


def test_a_reference_outlives_saving_again(folders, tmp_path):
    tagger = fused(folders)
    tagger.save(tmp_path / "both")
    Tagger.load(tmp_path / "both").save(tmp_path / "again")
    again = Tagger.load(tmp_path / "again")
    assert [one.source for one in again.model_.members_] == list(
        map(Reference.of, folders.values())
    )
    assert np.array_equal(again.predict_ids(TEXTS).scores, tagger.predict_ids(TEXTS).scores)


def test_a_model_that_was_replaced_is_not_saved_as_a_reference(folders, tmp_path):
    tagger = fused(folders)
    Tagger("one-vs-all", n_jobs=1).fit(TEXTS[:2], LABELS[:2]).save(folders["a"])
    with pytest.raises(StoreError, match="replaced by another one since"):
        tagger.save(tmp_path / "both")


def test_only_taggers_are_members(tmp_path):
    from multitudes import TfidfFeatures
    from multitudes.store import save

    save(TfidfFeatures().fit(TEXTS), tmp_path / "features")
    with pytest.raises(StoreError, match="holds a TfidfFeatures and no tagger"):
        Reference.of(tmp_path / "features").load()


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (None, "must have a folder and a manifest"),
        ({"folder": "/m"}, "must have a folder and a manifest"),
        ({"folder": 3, "manifest": DIGEST}, "must have a folder and a manifest"),
        ({"folder": "../m", "manifest": DIGEST}, "must have an absolute path"),
        ({"folder": "/m\0", "manifest": DIGEST}, "must have an absolute path"),
        ({"folder": "/" + "m" * 5000, "manifest": DIGEST}, "must have an absolute path"),
        ({"folder": "/m", "manifest": "g" * 64}, "must have a SHA-256"),
        ({"folder": "/m", "manifest": "0"}, "must have a SHA-256"),
    ],
)
def test_references_that_nobody_stored(stored, message):
    with pytest.raises(StoreError, match=message):
        Reference.checked(stored)


def test_a_path_may_be_as_long_as_that_of_a_file_system():
    longest = {"folder": "/" + "m" * (LONGEST - 1), "manifest": DIGEST}
    assert Reference.checked(longest).to_dict() == longest
    with pytest.raises(StoreError, match="must have an absolute path"):
        Reference.checked({**longest, "folder": longest["folder"] + "m"})
    with pytest.raises(StoreError, match="must have a SHA-256"):
        Reference.checked({**longest, "manifest": DIGEST + "0"})
    with pytest.raises(StoreError, match="must have a folder and a manifest"):
        Reference.checked({**longest, "more": "x"})


def test_a_folder_that_is_not_there():
    with pytest.raises(StoreError, match="refers to the model .*nowhere"):
        Reference("/nowhere", DIGEST).load()
