"""The estimator: it learns sets exactly, predicts, saves, resumes, and refuses bad input."""

import copy
import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone

from multitudes.errors import ConfigError, DataError, NotFittedError
from multitudes.metrics import set_scores
from multitudes.seq2set.fitting import Seq2SetTraining
from multitudes.seq2set.generation.generate import DecodingConfig
from multitudes.seq2set.losses.config import SetLossConfig
from multitudes.seq2set.network.config import NetworkConfig
from multitudes.seq2set.otseq2set import OTSeq2Set
from multitudes.seq2set.presets import PRESETS, seq2set_preset
from multitudes.seq2set.training_step import BatchTerms
from multitudes.seq2set.words.batches import BatchConfig
from multitudes.seq2set.words.vocabulary import WordsConfig
from multitudes.store import read_state, save

ANIMALS = ["cat", "dog", "horse", "owl", "fox", "bee"]
PLACES = ["barn", "house", "wood", "lake"]
NAMES = [*ANIMALS, *PLACES]
N = 32
QUICK = Seq2SetTraining(
    epochs=100,
    learning_rate=3e-2,
    weight_decay=0.0,
    warmup_steps=0,
    schedule="cosine",
    clip=8.0,
    device="cpu",
)
SETTINGS = {
    "words": WordsConfig(dim=16, max_length=20),
    "batches": BatchConfig(batch_size=16),
    "training": QUICK,
}


def small(network=None):
    """The same network with few dimensions."""
    sizes = {"hidden": 24, "layers": 1, "kernels": (2, 3), "strides": (1, 2), "dropout": 0.0}
    return dataclasses.replace(network or NetworkConfig(), **sizes)


@pytest.fixture(scope="module")
def data():
    """32 texts that name their labels, 0 to 4 each, in random order among other words."""
    rng = np.random.default_rng(0)
    texts, rows = [], []
    for i in range(N):
        labels = rng.choice(len(NAMES), i % 5, replace=False)
        other = [f"word{rng.integers(20)}" for _ in range(3)]
        words = [*(NAMES[label] for label in labels), *other]
        texts.append(" ".join(rng.permutation(words)))
        rows.append(np.isin(np.arange(len(NAMES)), labels))
    return texts, sp.csr_array(np.array(rows, np.float32))


def made(preset="otseq2set", **changes):
    model = seq2set_preset(preset)
    settings = SETTINGS | {"network": small(model.network)} | changes
    return model.set_params(**settings)


@pytest.fixture(scope="module")
def fitted(data):
    return made().fit(*data, label_texts=NAMES)


def exact(model, data):
    texts, Y = data
    return set_scores(model.predict_sets(texts), Y).f1


@pytest.mark.parametrize("preset", ["seq2seq", "sgm+lc", "bm", "bm+ot"])
def test_learns_32_sets_exactly(data, preset):
    assert exact(made(preset).fit(*data, label_texts=NAMES), data) == 1


def test_otseq2set_learns_32_sets_exactly(data, fitted):
    assert exact(fitted, data) == 1
    found = fitted.predict_sets(data[0])
    assert (found.labels >= 0).sum(axis=1).tolist() == [i % 5 for i in range(N)]
    assert fitted.n_steps_ == 4
    assert fitted.n_labels_ == len(NAMES)


@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("preset", ["seq2seq", "otseq2set"])
def test_learns_the_same_with_graphs(data, preset, accumulate):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    training = dataclasses.replace(QUICK, accumulate=accumulate, device=device)
    network = dataclasses.replace(small(seq2set_preset(preset).network), compile="graphs", layers=2)
    model = made(preset, network=network, training=training)
    assert exact(model.fit(*data, label_texts=NAMES), data) == 1


def test_untrained_knows_nothing(data):
    lazy = dataclasses.replace(QUICK, epochs=1, learning_rate=1e-9)
    assert exact(made(training=lazy).fit(*data), data) < 0.5


def test_predict_ranks_beyond_the_set(data, fitted):
    found = fitted.predict(data[0], top_k=7)
    assert found.labels.shape == (N, 7)
    assert (found.labels >= 0).all()
    assert (np.diff(found.scores) <= 0).all()
    sets = fitted.predict_sets(data[0])
    for ranked, chosen in zip(found.labels, sets.labels, strict=True):
        n = int((chosen >= 0).sum())
        assert set(ranked[:n].tolist()) == set(chosen[:n].tolist())
    assert fitted.predict(data[0], top_k=99).labels.shape == (N, len(NAMES))


@pytest.mark.parametrize("rank_by", ["best", "any"])
def test_scores_do_not_depend_on_how_many_are_asked_for(data, fitted, rank_by):
    model = copy.deepcopy(fitted).set_params(decoding=DecodingConfig(rank_by=rank_by))
    few, many = (model.predict(data[0], top_k=top_k) for top_k in (2, 9))
    np.testing.assert_array_equal(few.labels, many.labels[:, :2])
    np.testing.assert_array_equal(few.scores, many.scores[:, :2])


@pytest.mark.parametrize("decoding", [DecodingConfig(), DecodingConfig(beam_width=3)])
def test_a_batch_is_its_single_texts(data, fitted, decoding):
    model = copy.deepcopy(fitted).set_params(decoding=decoding)
    together = model.predict_sets(data[0])
    for i in range(0, N, 7):
        alone = model.predict_sets([data[0][i]])
        np.testing.assert_array_equal(alone.labels[0], together.labels[i])
        np.testing.assert_allclose(alone.scores[0], together.scores[i], rtol=1e-4)


def test_unusual_texts(fitted):
    found = fitted.predict_sets(["", "?!", "zebra", "cat " * 500])
    np.testing.assert_array_equal(found.labels[0], found.labels[1])
    np.testing.assert_array_equal(found.labels[0], found.labels[2])
    assert fitted.predict_sets([]).labels.shape == (0, 4)


def test_saved_and_loaded(data, fitted, tmp_path):
    save(fitted, tmp_path / "model")
    again = OTSeq2Set.from_state(read_state(tmp_path / "model"))
    assert again.get_params() == fitted.get_params()
    for one, other in (
        (again.predict_sets(data[0]), fitted.predict_sets(data[0])),
        (again.predict(data[0]), fitted.predict(data[0])),
    ):
        np.testing.assert_array_equal(one.labels, other.labels)
        np.testing.assert_array_equal(one.scores, other.scores)


def test_the_same_seed_the_same_model_and_another_seed_another(data):
    short = dataclasses.replace(QUICK, epochs=2)
    one, two, other = (
        made(training=short, random_state=random_state).fit(*data).predict(data[0])
        for random_state in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.scores, two.scores)
    assert not np.array_equal(one.scores, other.scores)


def test_a_stopped_training_ends_as_if_it_had_not_stopped(data, tmp_path, monkeypatch):
    short = dataclasses.replace(QUICK, epochs=4, checkpoint_minutes=0)
    network = dataclasses.replace(small(), dropout=0.2)
    whole = made(training=short, network=network).fit(*data)

    calls = []

    def stop(*arguments, **options):
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return original(*arguments, **options)

    original = BatchTerms.forward
    monkeypatch.setattr(BatchTerms, "forward", stop)
    with pytest.raises(KeyboardInterrupt):
        made(training=short, network=network).fit(*data, checkpoint=tmp_path)
    resumed = made(training=short, network=network).fit(*data, checkpoint=tmp_path)
    assert len(calls) < 6 + 8
    for one, other in zip(
        whole.network_.state_dict().values(), resumed.network_.state_dict().values(), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        (lambda texts, Y: {"validation": None}, r"validation \('.*' there, None now\)"),
        (lambda texts, Y: {"validation": (texts, Y[::-1])}, "validation"),
        (lambda texts, Y: {"validation": (texts[::-1], Y)}, "validation"),
        (lambda texts, Y: {"label_texts": NAMES[::-1]}, "start_vectors"),
        (lambda texts, Y: {"label_texts": None}, "start_vectors"),
    ],
)
def test_a_checkpoint_of_other_validation_data_or_label_texts_is_refused(
    data, tmp_path, changes, name
):
    model = made(training=dataclasses.replace(QUICK, epochs=1))
    given = {"label_texts": NAMES, "validation": data, "checkpoint": tmp_path}
    model.fit(*data, **given)
    with pytest.raises(ConfigError, match=f"holds a run with other settings or data.*{name}"):
        clone(model).fit(*data, **(given | changes(*data)))


def test_a_checkpoint_of_other_word_vectors_is_refused(data, tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("cat 1 2 3\n")
    words = WordsConfig(vectors=str(path))
    model = made(training=dataclasses.replace(QUICK, epochs=1), words=words)
    model.fit(*data, checkpoint=tmp_path / "run")
    path.write_text("cat 1 2 4\n")
    with pytest.raises(ConfigError, match="start_vectors"):
        clone(model).fit(*data, checkpoint=tmp_path / "run")


def test_validation_keeps_the_best_epoch(data):
    short = dataclasses.replace(QUICK, epochs=12)
    model = made(training=short).fit(*data, validation=data)
    best = model.history_.best
    assert best.metrics["micro-F1"] == max(e.metrics["micro-F1"] for e in model.history_.epochs)
    assert exact(model, data) == pytest.approx(best.metrics["micro-F1"])


def test_clone_keeps_settings_and_forgets_what_was_learned(fitted):
    twin = clone(fitted)
    assert twin.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError, match="this OTSeq2Set has not learned anything yet"):
        twin.predict(["cat"])


def test_scheme_is_chosen_and_told(data, capsys):
    short = dataclasses.replace(QUICK, epochs=1)
    model = made(training=short, verbose=True).fit(*data)
    assert model.scheme_.reason in capsys.readouterr().err
    fixed = made(training=short, loss=SetLossConfig(scheme="first-n")).fit(*data)
    assert fixed.scheme_.scheme == "first-n"


def test_more_labels_than_steps_are_cut_with_a_warning(data):
    short = dataclasses.replace(QUICK, epochs=1)
    network = dataclasses.replace(small(), n_steps=2)
    with pytest.warns(
        UserWarning, match="12 of 32 training texts have more than 2 labels .* 18 labels"
    ):
        model = made(training=short, network=network).fit(*data)
    assert model.n_labels_cut_ == 12
    assert model.predict_sets(data[0]).labels.shape == (N, 2)


def test_word_vectors_from_a_file(data, tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("cat 1 2 3\nhouse 3 2 1\n")
    short = dataclasses.replace(QUICK, epochs=1)
    words = WordsConfig(vectors=str(path), frozen=True)
    model = made(training=short, words=words).fit(*data, label_texts=NAMES)
    assert (model.n_words_found_, model.n_labels_found_) == (2, 2)
    row = model.network_.encoder.words.weight[model.vocabulary_.ids["cat"]]
    assert row.tolist() == [1, 2, 3]  # frozen


def test_bad_input(data):
    texts, Y = data
    with pytest.raises(DataError, match="X has 31 rows and y has 32"):
        made().fit(texts[1:], Y)
    with pytest.raises(DataError, match="wrap it in a list"):
        made().fit(texts[0], Y)
    with pytest.raises(DataError, match="text 2 is not a string but NoneType"):
        made().fit([*texts[:2], None, *texts[3:]], Y)
    with pytest.raises(DataError, match="y has 10 labels, but there are 2 label_texts"):
        made().fit(texts, Y, label_texts=["a", "b"])
    with pytest.raises(DataError, match="no instance has a label"):
        made().fit(texts, Y * 0)
    with pytest.raises(ConfigError, match="objective must be one of"):
        made(objective="list").fit(texts, Y)
    with pytest.raises(ConfigError, match="order must be one of"):
        made(order="rare").fit(texts, Y)
    with pytest.raises(ConfigError, match="top_k must be a whole number"):
        made(training=dataclasses.replace(QUICK, epochs=1)).fit(texts, Y).predict(texts, top_k=0)
    with pytest.raises(ConfigError, match=r"heads must divide the 48 channels"):
        dataclasses.replace(small(), heads=5)
    with pytest.raises(ConfigError, match=r"a stride for each kernel"):
        NetworkConfig(kernels=(3,))


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        (lambda texts, Y: texts, r"validation must be a pair \(texts, Y\), got a list of 32"),
        (lambda texts, Y: (texts, Y, Y), r"a pair \(texts, Y\), got a tuple of 3"),
        (lambda texts, Y: (texts[0], Y), "validation texts: expected a sequence"),
        (lambda texts, Y: (texts, Y[1:]), "validation data: X has 32 rows and y has 31"),
        (lambda texts, Y: (texts, Y[:, 1:]), "validation data: y has 9 labels, but the model has"),
        (lambda texts, Y: (texts, Y * 0), "validation data: no instance has a label"),
    ],
)
def test_bad_validation_data(data, validation, message):
    with pytest.raises(DataError, match=message):
        made().fit(*data, validation=validation(*data))


def test_validation_and_label_texts_may_be_generators(data):
    texts, Y = data
    model = made(training=dataclasses.replace(QUICK, epochs=1))
    model.fit(texts, Y, label_texts=iter(NAMES), validation=(iter(texts), Y))
    assert model.n_labels_found_ == len(NAMES)
    assert "micro-F1" in model.history_.epochs[0].metrics


def test_label_texts_are_no_single_text(data):
    with pytest.raises(DataError, match="label_texts: expected a sequence of texts"):
        made().fit(*data, label_texts="abcdefghij")


def test_devices_that_are_not_there(fitted, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert fitted.to("auto") is fitted
    assert fitted.to(precision="float32").to(precision="auto") is fitted
    with pytest.raises(ConfigError, match="OTSeq2Set predicts in float32 alone"):
        fitted.to(precision="bf16")
    with pytest.raises(ConfigError, match="torch finds no GPU"):
        fitted.to("cuda")
    with pytest.raises(ConfigError, match="device must be one of .*, got 'foo'"):
        fitted.to("foo")


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_unfitted_models(name):
    model = seq2set_preset(name)
    network = model.network
    assert network.convolution == (name == "otseq2set" or name.endswith("+lc"))
    assert (model.objective == "set") == (name == "otseq2set" or name.startswith("bm"))


def test_unknown_preset():
    with pytest.raises(ConfigError, match="did you mean 'seq2seq'"):
        seq2set_preset("seq2sec")
    with pytest.raises(ConfigError, match="there is no preset None: known: bm, "):
        seq2set_preset(None)


def test_another_seed_of_the_training_is_refused():
    training = Seq2SetTraining(random_state=5)
    with pytest.raises(ConfigError, match="training.random_state is 5, but the model's own is 0"):
        OTSeq2Set(training=training).fit(["a cat"], sp.csr_array([[1]]))
    assert OTSeq2Set(training=training, random_state=5)._config().training.random_state == 5


def test_training_takes_settings_and_no_dict():
    with pytest.raises(ConfigError, match="training must be a Seq2SetTraining, got {"):
        OTSeq2Set(training={"epochs": 3}).fit(["a cat"], sp.csr_array([[1]]))


def test_settings_are_nested_parameters_and_given_by_name():
    model = OTSeq2Set().set_params(training__epochs=3, network__hidden=8)
    assert (model.training.epochs, model.network.hidden) == (3, 8)
    assert model.get_params()["training__epochs"] == 3
    assert OTSeq2Set().training.epochs == Seq2SetTraining().epochs
    with pytest.raises(TypeError, match="positional"):
        OTSeq2Set(WordsConfig())
