"""Encoders that need nothing but the texts of labels."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from multitudes.encoder import Prime
from multitudes.encoder.presets import prime_preset
from multitudes.errors import DataError
from multitudes.types import LearnsFromNames

NAMES = ["red apples", "green pears", "fast cars"]
TINY = {
    "backbone__name": "scratch", "backbone__max_length": 8, "backbone__label_max_length": 8,
    "training__device": "cpu", "precision": "float32",
}  # fmt: skip


def plain(**settings) -> Prime:
    return prime_preset("dpr").set_params(**TINY, **settings)


def test_texts_are_compared_with_names():
    model = plain().fit([], None, label_texts=NAMES)
    assert np.allclose(model.label_vectors_, model.embed(NAMES), atol=1e-5)
    found = model.predict(NAMES, top_k=1)
    assert found.labels.ravel().tolist() == [0, 1, 2]
    assert model.history_.epochs == []


@pytest.mark.parametrize("name", ["dpr", "siamese", "ngame"])
def test_who_has_no_other_source_learns_from_names(name):
    model = prime_preset(name)
    assert isinstance(model, LearnsFromNames)
    assert model.learns_from_names
    assert not model.set_params(classifier=True).learns_from_names


@pytest.mark.parametrize("name", ["prime", "dexa"])
def test_others_need_instances(name):
    model = prime_preset(name).set_params(**TINY)
    assert not model.learns_from_names
    with pytest.raises(DataError):
        model.fit([], np.zeros((0, 3)), label_texts=NAMES)


@pytest.mark.parametrize("texts", [[], None, 3])
def test_names_are_needed(texts):
    with pytest.raises(DataError):
        plain().fit([], None, label_texts=texts)


def test_it_learns_from_texts_later_and_survives_the_disk(tmp_path):
    from multitudes.store import load, save

    model = plain().fit([], None, label_texts=NAMES)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.predict(NAMES).labels, model.predict(NAMES).labels)
    again.add_labels(["slow boats"], [[]])
    assert again.n_labels_ == 4
    again.partial_fit(["a boat", "an apple"], np.array([[0, 0, 0, 1], [1, 0, 0, 0]]))
    assert again.predict(["a boat"], top_k=4).labels.shape == (1, 4)
