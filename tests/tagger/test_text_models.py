"""A tagger whose model reads texts: a tiny PRIME from scratch."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from multitudes.data import Dataset
from multitudes.deep.training import TrainingConfig
from multitudes.encoder import LossConfig, Prime, SamplerConfig
from multitudes.errors import ConfigError, DataError, StoreError
from multitudes.groups import Eagle
from multitudes.groups.grouped_dataset import grouped_dataset
from multitudes.groups.making import random_groups
from multitudes.tagger import Tagger, evaluate_dataset, predict_batches
from multitudes.tagger.assembly import assemble
from multitudes.tagger.training import clear_checkpoint
from multitudes.types import Predictions

from .tiny_encoder import SETTINGS, TOPICS, Reader, tiny, topical

TEST = topical(20, start=100)


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return tiny(keep_instances=True).fit(topical(60))


def test_it_learns_without_features(tagger):
    assert tagger.features_ is None
    assert tagger.takes_texts_
    assert tagger.choice_ == "prime-lite, as asked for"
    assert evaluate_dataset(tagger, TEST)["P@1"] > 0.9


def test_it_comes_back_from_disk(tagger, tmp_path):
    tagger.save(tmp_path / "m")
    again = Tagger.load(tmp_path / "m", verify=True)
    assert again.predict(TEST.texts) == tagger.predict(TEST.texts)
    assert again.model == "prime-lite"
    assert again.settings["training.epochs"] == SETTINGS["training.epochs"]
    label = tagger.predict(TEST.texts[:1])[0][0].label
    found = again.explain(TEST.texts[0], label)
    assert found.to_dict() == tagger.explain(TEST.texts[0], label).to_dict()


def test_an_estimator_will_do():
    given = Prime(
        backbone=tagger_setting("backbone"),
        sampler=SamplerConfig(batch_size=20, clustered=False),
        training=TrainingConfig(epochs=1, device="cpu"),
    )
    tagger = Tagger(given).fit(topical(40))
    assert isinstance(tagger.model_, Prime)
    assert not hasattr(given, "network_")
    assert tagger.choice_ == "Prime, as given"
    assert len(tagger.predict(["juicy apple"], top_k=3)[0]) == 3


def tagger_setting(name):
    model, _, _ = assemble(tiny()._spec(), topical(5), from_groups=False)
    return getattr(model, name)


@pytest.mark.parametrize(
    ("preset", "setting", "expected"),
    [
        ("prime", "sampler.cluster_size", {"batch_size": 3200, "positives": 2}),
        ("prime++", "sampler.cluster_size", {"batch_size": 6400, "positives": 3}),
        ("dpr", "sampler.cluster_size", {"batch_size": 3200, "clustered": False}),
    ],
)
def test_one_field_of_a_preset_leaves_the_others_alone(preset, setting, expected):
    spec = Tagger(preset, settings={setting: 8, "loss.gamma_min": 0.2}, random_state=7)._spec()
    model, features, _ = assemble(spec, topical(5), from_groups=False)
    assert features is None
    assert model.sampler.cluster_size == 8
    assert {name: getattr(model.sampler, name) for name in expected} == expected
    assert model.loss.gamma_min == 0.2
    assert model.loss.kind == ("softmax" if preset == "dpr" else LossConfig().kind)
    assert model.random_state == 7


def test_filter_pairs_are_left_out_and_rows_stay_full(tagger):
    best = tagger.predict_ids(TEST.texts, top_k=1).labels[:, 0]
    pairs = np.stack([np.arange(len(TEST)), best], axis=1)
    with_pairs = Dataset(
        Y=TEST.Y, texts=TEST.texts, label_names=TEST.label_names, filter_pairs=pairs
    )
    ((_, found),) = predict_batches(tagger, with_pairs, top_k=4)
    assert (found.labels >= 0).all()
    assert not (found.labels == best[:, None]).any()


def test_explain_names_sources_and_training_texts(tagger):
    found = tagger.explain("juicy apple", "fruit")
    assert found.score == pytest.approx(tagger.predict(["juicy apple"], top_k=1)[0][0].score, 0.02)
    assert found.shares.keys() == {"text", "centroid", "free"}
    assert sum(found.shares.values()) == pytest.approx(found.score, abs=0.02)
    text, _ = found.nearest.pairs[0]
    assert set(text.split()) <= set(TOPICS["fruit"].split())
    assert text in found.table()
    assert not found.note


def test_a_text_without_words_is_remarked(tagger):
    found = tagger.explain(" ... ", "fruit")
    assert found.note == "the text has no words: it gets what every such text gets"
    assert str(found).endswith(found.note)
    assert tagger.unreadable(["an apple", "", " ... "]) == [1, 2]


def test_new_labels_from_their_texts_alone(tagger, tmp_path):
    tagger.save(tmp_path / "m")
    grown = Tagger.load(tmp_path / "m")
    old = grown.classes_
    assert grown.add_labels(label_texts={"lutes": "guitar concert", "eels": "bass river"}) is grown
    assert grown.classes_ == (*old, "eels", "lutes")
    assert "eels" in {tag.label for tag in grown.predict(["bass river"], top_k=2)[0]}
    grown.add_labels(["leather waist", "moon crater"], [["sashes"], ["planets"]])
    assert grown.classes_[-1] == "sashes"
    assert "sashes" in {tag.label for tag in grown.predict(["leather waist"], top_k=2)[0]}
    grown.save(tmp_path / "n")
    assert Tagger.load(tmp_path / "n").predict(TEST.texts) == grown.predict(TEST.texts)


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        ((), {"label_texts": ["fruit"]}, "'fruit' is there already"),
        ((), {"label_texts": "eels"}, "got one str"),
        ((), {}, "none of the labels is new"),
        ((["a"],), {}, "give texts and labels, or one Dataset"),
        ((["a"], [["x"], ["y"]]), {}, "1 texts and 2 lists"),
        ((["a"], [["fruit"]]), {}, "none of the labels is new"),
    ],
)
def test_labels_that_cannot_be_added(tagger, arguments, settings, message):
    with pytest.raises(DataError, match=message):
        tagger.add_labels(*arguments, **settings)


def test_an_encoder_learns_further_and_forgets_labels(tagger, tmp_path):
    tagger.save(tmp_path / "m")
    changed = Tagger.load(tmp_path / "m")
    before = score_of(changed, "purple quince", "fruit")
    changed.partial_fit(["purple quince"] * 4, [["fruit"]] * 4)
    assert score_of(changed, "purple quince", "fruit") > before
    assert "instance" in changed.explain("purple quince", "fruit").table()  # its text is not kept
    changed.remove_labels(["fruit"])
    assert "fruit" not in changed.classes_
    assert changed.predict(["purple quince"], top_k=1)[0][0].label != "fruit"
    changed.save(tmp_path / "n")
    assert Tagger.load(tmp_path / "n").predict(TEST.texts) == changed.predict(TEST.texts)


def score_of(tagger, text, label):
    scores = {tag.label: tag.score for tag in tagger.predict([text], top_k=50)[0]}
    return scores[label]


def test_what_an_encoder_cannot_do(tagger):
    with pytest.raises(ConfigError, match="train a tree model"):
        tagger.senses("fruit")
    with pytest.raises(ConfigError, match="label_texts are for text encoders"):
        Tagger("one-vs-all").fit(topical(20)).add_labels(label_texts=["eels"])


def test_groups_teach_an_encoder():
    grouped = grouped_dataset(topical(60), random_groups(60, 2, random_state=0))
    tagger = tiny(**{"training.epochs": 12}).fit(grouped)
    assert isinstance(tagger.model_, Prime)
    assert tagger.choice_.endswith("learned from groups")
    assert tagger.group_report_.n_assigned >= 30
    assert evaluate_dataset(tagger, TEST)["P@1"] > 0.6


def test_a_checkpoint_stays_until_it_is_cleared(tmp_path):
    settings = {"training.epochs": 2, "training.checkpoint_minutes": 0}
    tagger = tiny(**settings).fit(topical(40), checkpoint=tmp_path / "c")
    assert (tmp_path / "c" / "checkpoint").exists()
    again = tiny(**settings).fit(topical(40), checkpoint=tmp_path / "c")  # nothing to do
    assert again.predict(TEST.texts) == tagger.predict(TEST.texts)
    with pytest.raises(ConfigError, match="other settings or data"):
        tiny(**settings).fit(topical(45), checkpoint=tmp_path / "c")
    clear_checkpoint(tagger.model_, tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_validation_chooses_the_epoch(tagger):
    validated = tiny(**{"training.epochs": 3}).fit(topical(40), validation=TEST)
    assert len(validated.model_.history_.validated) == 3
    assert not tagger.model_.history_.validated


# ------------------------------------------------------------------ what a model is handed


def given(tagger):
    return tagger.model_.given_


def test_label_texts_are_descriptions_or_names():
    texts, labels = ["a b", "c"], [["x"], ["y"]]
    assert given(Tagger(Reader()).fit(texts, labels))["label_texts"] == ("x", "y")
    by_name = Tagger(Reader()).fit(texts, labels, label_texts={"y": "why"})
    assert given(by_name)["label_texts"] == ("x", "why")
    in_order = Tagger(Reader()).fit(texts, labels, label_texts=["ex", " "])
    assert given(in_order)["label_texts"] == ("ex", "y")
    Y = sp.csr_array(np.eye(2, dtype=np.float32))
    assert given(Tagger(Reader()).fit(texts, Y, label_texts=["", ""]))["label_texts"] == ("", "")


def test_labels_that_are_numbers_say_nothing():
    Y = sp.csr_array(np.eye(2, dtype=np.float32))
    with pytest.raises(DataError, match="2 labels have numbers alone: give label_texts"):
        Tagger(Reader()).fit(["a", "b"], Y)


class Counter(BaseEstimator):
    """A model over texts that takes nothing but texts and labels: the words of each label."""

    reads_texts = True

    def fit(self, X, y):
        assert all(isinstance(text, str) for text in X)
        self.words_ = [set() for _ in range(y.shape[1])]
        for row, text in enumerate(X):
            for label in y.indices[y.indptr[row] : y.indptr[row + 1]]:
                self.words_[label] |= set(text.split())
        return self

    def predict(self, X, *, top_k=5):
        found = [[len(set(text.split()) & words) for words in self.words_] for text in X]
        return Predictions.from_csr(sp.csr_array(np.array(found, np.float32)), top_k)


@pytest.mark.parametrize("groups", [False, True])
def test_a_model_that_reads_texts_alone_is_given_texts_alone(groups):
    """Neither TF-IDF nor label texts, nor what only a training in epochs takes."""
    data = topical(20)
    if groups:
        data = grouped_dataset(data, random_groups(20, 1, random_state=0))
    tagger = Tagger(Counter(), n_jobs=1).fit(data, validation=TEST)
    assert tagger.features_ is None
    assert tagger.takes_texts_
    assert evaluate_dataset(tagger, TEST)["P@1"] == 1.0


def test_a_model_without_epochs_keeps_no_checkpoint(tmp_path):
    with pytest.raises(ConfigError, match="Counter keeps no checkpoint: leave it out"):
        Tagger(Counter()).fit(topical(5), checkpoint=tmp_path / "c")


def test_validation_and_checkpoint_reach_the_model(tmp_path):
    tagger = Tagger(Reader()).fit(topical(5), validation=TEST, checkpoint=tmp_path)
    assert given(tagger)["validation"][0] == TEST.texts
    assert given(tagger)["validation"][1].shape == TEST.Y.shape
    assert given(tagger)["checkpoint"] == tmp_path


def test_labels_of_validation_are_matched_by_name():
    other = Dataset(
        Y=sp.csr_array(np.eye(3, dtype=np.float32)),
        texts=["moon", "apple", "what"],
        label_names=["planets", "fruit", "unknown"],
    )
    _, Y = given(Tagger(Reader()).fit(topical(5), validation=other))["validation"]
    names = topical(5).label_names
    assert Y.shape == (3, len(names))
    assert [[names[label] for label in row.nonzero()[0]] for row in Y.toarray()] == [
        ["planets"], ["fruit"], [],
    ]  # fmt: skip


def test_validation_of_features_says_nothing_to_a_reader():
    features = Dataset(Y=TEST.Y, X=TEST.Y, label_names=TEST.label_names)
    with pytest.raises(DataError, match="validation data has features instead"):
        Tagger(Reader()).fit(topical(5), validation=features)


@pytest.mark.parametrize("model", ["one-vs-all", Reader()])
def test_a_checkpoint_that_is_a_file_is_refused_before_the_work(model, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="file is a file: choose another path"):
        Tagger(model).fit(topical(5), checkpoint=tmp_path / "file")


@pytest.mark.parametrize("model", [Reader(), Eagle(Reader())])
def test_groups_hand_over_texts_and_label_texts(model):
    grouped = grouped_dataset(topical(10), random_groups(10, 2, random_state=0))
    found = given(Tagger(model).fit(grouped))
    assert found["texts"] == list(grouped.texts)
    assert found["label_texts"] == grouped.label_names
    assert found["Y"].nnz >= 5


def test_rounds_and_a_checkpoint_do_not_go_together(tmp_path):
    grouped = grouped_dataset(topical(10), random_groups(10, 2, random_state=0))
    with pytest.raises(ConfigError, match="groups.rounds=2 trains many models"):
        Tagger(Reader(), settings={"groups.rounds": 2}).fit(grouped, checkpoint=tmp_path)


def test_a_tree_takes_the_checkpoint_as_its_own(tmp_path):
    tagger = Tagger("xr-linear").fit(topical(20), checkpoint=tmp_path / "c")
    assert tagger.model_.checkpoint == tmp_path / "c"


# ------------------------------------------------------------------ what is refused


def test_what_does_not_go_with_an_encoder():
    with pytest.raises(ConfigError, match="prime reads texts itself and takes no features"):
        Tagger("prime", features="tfidf").check()
    with pytest.raises(ConfigError, match="no setting 'features.min_df'"):
        Tagger("prime", settings={"features.min_df": 2}).check()
    with pytest.raises(ConfigError, match="prime has no leaves"):
        Tagger("prime", settings={"overlap": 2}).check()
    with pytest.raises(ConfigError, match="no setting 'training.epoch': did you mean"):
        Tagger("prime", settings={"training.epoch": 2}).check()
    with pytest.raises(ConfigError, match="no setting 'epochs': .* or 'training.epochs'"):
        Tagger("prime", settings={"epochs": 2}).check()
    with pytest.raises(ConfigError, match="no setting 'training.random_state'"):
        Tagger("prime", settings={"training.random_state": 2}).check()


def test_features_are_no_texts():
    X = sp.csr_array(np.eye(3, dtype=np.float32))
    with pytest.raises(DataError, match="prime reads texts, and this data has features"):
        Tagger("prime").fit(Dataset(Y=X, X=X))
