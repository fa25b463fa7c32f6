"""How many threads trained a model is not stored with it: the files are the same."""

import json

import pytest

from multitudes.features import HashingFeatures, TfidfFeatures
from multitudes.store import load, save
from multitudes.tagger import Tagger

TEXTS = ["a red belt", "a blue belt", "red apples and pears", "blue cheese"] * 3
LABELS = [["belts", "red"], ["belts"], ["fruit", "red"], ["cheese"]] * 3


def stored(folder):
    """The content of each file, and what the manifest says about them and the object."""
    (inside,) = folder.glob("data-*")
    found = {path.name: path.read_bytes() for path in sorted(inside.rglob("*")) if path.is_file()}
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return found, manifest["files"], manifest["object"]


@pytest.mark.parametrize("features", [TfidfFeatures, HashingFeatures])
def test_thread_counts_are_not_stored_with_features(features, tmp_path):
    for n_jobs in (1, 2, None):
        fitted = features(n_jobs=n_jobs).fit(TEXTS)
        save(fitted, tmp_path / str(n_jobs))
    assert stored(tmp_path / "1") == stored(tmp_path / "2") == stored(tmp_path / "None")
    assert load(tmp_path / "2").n_jobs is None


def test_models_trained_by_different_numbers_of_threads_are_stored_alike(tmp_path):
    for n_jobs in (1, 2):
        tagger = Tagger("xr-linear", n_jobs=n_jobs).fit(TEXTS, LABELS)
        tagger.save(tmp_path / str(n_jobs))
    assert stored(tmp_path / "1") == stored(tmp_path / "2")
