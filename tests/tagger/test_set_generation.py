"""A Tagger that generates label sets: trains, writes sets and ranks, is saved and read again."""

from __future__ import annotations

import pytest

from multitudes.data import catalogue
from multitudes.tagger import Tagger

QUICK = {
    "training.epochs": 3,
    "training.learning_rate": 3e-3,
    "training.device": "cpu",
    "network.hidden": 16,
    "network.layers": 1,
    "words.dim": 16,
    "words.max_length": 16,
    "batches.batch_size": 32,
}
TEXTS = ["Oak writing desk with three drawers", ""]


@pytest.fixture(scope="module")
def data():
    return catalogue(n_instances=160, n_labels=12, seed=0).dataset


@pytest.mark.parametrize("name", ["otseq2set", "mlc2seq"])
def test_writes_sets_and_ranks(data, name, tmp_path):
    tagger = Tagger(name, settings=QUICK).fit_dataset(data)
    sets, ranked = tagger.predict_sets(TEXTS), tagger.predict(TEXTS, top_k=3)
    assert len(sets) == len(ranked) == len(TEXTS)
    assert {tag.label for tags in (*sets, *ranked) for tag in tags} <= set(data.label_names)
    assert all(len({tag.label for tag in tags}) == len(tags) for tags in sets)
    tagger.save(tmp_path / "model")
    assert Tagger.load(tmp_path / "model").predict_sets(TEXTS) == sets


def test_one_setting_of_training_leaves_the_others_as_in_the_paper():
    from multitudes.seq2set import OTSeq2Set, Seq2SetTraining
    from multitudes.tagger.settings import apply_settings, settings_of

    model = OTSeq2Set()
    assert settings_of(model)["training.learning_rate"].get() == 1e-3
    apply_settings(model, None, {"training.epochs": 3})
    assert model.training == Seq2SetTraining(epochs=3)
    assert (model.training.learning_rate, model.training.clip) == (1e-3, 8)
