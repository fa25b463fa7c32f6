"""The page on probabilities and sets: its Python runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from multitudes.data import make_catalogue, split
from multitudes.features import TfidfFeatures
from multitudes.linear import XRLinear
from multitudes.tagger import Tagger
from multitudes.types import Predictions

PAGE = (Path(__file__).parents[2] / "docs" / "probabilities.md").read_text()
WITH_TAGGER, WITHOUT = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture
def parts():
    rest, test = split(make_catalogue(900, n_labels=40, random_state=2).dataset, test_size=200)
    return (*split(rest, test_size=200), test)


def test_the_tagger_is_calibrated_and_saved(parts, tmp_path, monkeypatch):
    train, validation, _ = parts
    monkeypatch.chdir(tmp_path)
    exec(WITH_TAGGER, {"Tagger": Tagger, "train": train, "validation": validation})
    assert len(Tagger.load("my-model").predict_proba(["a text"], top_k=5)) == 1


def test_the_parts_work_on_predictions(parts):
    train, validation, test = parts
    features = TfidfFeatures()
    model = XRLinear(n_jobs=1).fit(features.fit_transform(train.texts), train.Y)
    names = {
        "model": model,
        "X_val": features.transform(validation.texts),
        "Y_val": validation.Y,
        "X_test": features.transform(test.texts),
        "Y_test": test.Y,
    }
    exec(WITHOUT, names)
    assert isinstance(names["sets"], Predictions)
    has_labels = names["sets"].labels[:, 0] >= 0
    assert 0.5 < has_labels.mean() < 1  # of these texts, some have none
