from __future__ import annotations

from types import SimpleNamespace

import pytest

from multitudes.deep.training import EpochRecord, History
from multitudes.models import model_spec
from multitudes.tagger.training import training_notes


def test_the_epoch_that_was_kept_and_what_was_lost():
    epochs = [EpochRecord(0, metrics={"P@1": 0.5}), EpochRecord(1, metrics={"P@1": 0.25})]
    model = SimpleNamespace(history_=History(epochs=epochs), n_cut_=1200, n_empty_=0)
    kept, cut = training_notes(model)
    assert kept == "kept epoch 1 of 2: P@1 50.00"
    assert cut == "1,200 texts were cut"


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("prime", "backbone.max_length and backbone.label_max_length say where"),
        ("otseq2set", "words.max_length says where"),
    ],
)
def test_settings_are_those_of_the_model(name, settings):
    model = model_spec(name).make_model()
    model.n_cut_ = 3
    assert training_notes(model) == [f"3 texts were cut; {settings}"]


def test_nothing_to_say():
    assert training_notes(SimpleNamespace(history_=History(epochs=[EpochRecord(0)]))) == []
    assert training_notes(object()) == []
