"""A Tagger that generates label sets: trains, writes sets and ranks, is saved and read again."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

from multitudes.cli import main
from multitudes.data import make_catalogue
from multitudes.errors import ConfigError, DataError
from multitudes.tagger import Tagger
from multitudes.tagger.settings import apply_settings

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
    return make_catalogue(n_instances=160, n_labels=12, random_state=0).dataset


@pytest.mark.parametrize("name", ["otseq2set", "mlc2seq"])
def test_writes_sets_and_ranks(data, name, tmp_path):
    tagger = Tagger(name, settings=QUICK).fit(data)
    sets, ranked = tagger.predict_sets(TEXTS), tagger.predict(TEXTS, top_k=3)
    assert len(sets) == len(ranked) == len(TEXTS)
    assert {tag.label for tags in (*sets, *ranked) for tag in tags} <= set(data.label_names)
    assert all(len({tag.label for tag in tags}) == len(tags) for tags in sets)
    tagger.save(tmp_path / "model")
    assert Tagger.load(tmp_path / "model").predict_sets(TEXTS) == sets


def test_one_setting_of_training_leaves_the_others_as_in_the_paper():
    from multitudes.seq2set import OTSeq2Set, Seq2SetTraining
    from multitudes.tagger.settings import settings_of

    model = OTSeq2Set()
    assert settings_of(model)["training.learning_rate"].get() == 1e-3
    apply_settings(model, None, {"training.epochs": 3})
    assert model.training == Seq2SetTraining(epochs=3)
    assert (model.training.learning_rate, model.training.clip) == (1e-3, 8)


@pytest.fixture(scope="module")
def unnamed():
    """A tagger of labels that are numbers, and what it learned from."""
    texts, Y = ["red apple", "blue sea"] * 4, np.eye(3, dtype=np.float32)[[0, 1] * 4]
    settings = {**QUICK, "training.epochs": 1}
    return Tagger("otseq2set", settings=settings).fit(texts, sp.csr_array(Y))


def test_labels_may_be_numbers(unnamed):
    assert unnamed.classes_ == ("0", "1", "2")
    assert unnamed.model_.n_labels_found_ == 0


@pytest.mark.parametrize("method", ["partial_fit", "add_labels", "remove_labels"])
def test_it_cannot_be_changed_and_says_what_can(unnamed, method):
    given = (["0"],) if method == "remove_labels" else (["red apple"], [["0"]])
    with pytest.raises(ConfigError, match=f"OTSeq2Set has no {method}: fit again .* xr-linear, "):
        getattr(unnamed, method)(*given)


@pytest.mark.parametrize("wrong", [None, 3, np.array("a")])
def test_what_is_no_list_of_texts(unnamed, wrong):
    for predict in (unnamed.predict, unnamed.predict_sets):
        with pytest.raises(DataError, match="expected a sequence of texts, got"):
            predict(wrong)


def test_its_words_are_shown(unnamed, tmp_path, capsys):
    unnamed.save(tmp_path / "m")
    with pytest.raises(SystemExit) as ended:
        main(["inspect", str(tmp_path / "m"), "--vocabulary"])
    assert not ended.value.code
    words = list(unnamed.model_.vocabulary_.words)
    assert capsys.readouterr().out.split() == words
    with pytest.raises(SystemExit):
        main(["inspect", str(tmp_path / "m"), "--json"])
    assert json.loads(capsys.readouterr().out)["vocabulary"] == len(words)


def test_kernels_and_strides_are_set_together():
    from multitudes.seq2set import OTSeq2Set

    model = OTSeq2Set()
    apply_settings(model, None, {"network.kernels": [3, 5], "network.strides": [1, 1]})
    assert (model.network.kernels, model.network.strides) == ((3, 5), (1, 1))
