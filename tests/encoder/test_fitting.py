"""PRIME's training: where it stops it goes on, and what goes wrong is said in words."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import pytest
import scipy.sparse as sp
import torch

from multitudes.deep.training import TrainingConfig
from multitudes.encoder.backbone.loading import load_backbone
from multitudes.encoder.backbone.model import BackboneConfig
from multitudes.encoder.fitting import PrimeConfig, TrainingTexts, Validation, start_network
from multitudes.encoder.losses.config import LossConfig
from multitudes.encoder.network import PrimeNetwork
from multitudes.encoder.prototypes.network import PrototypeConfig
from multitudes.encoder.sampling import SamplerConfig
from multitudes.errors import ConfigError, DataError, ResourceError, TrainingError
from multitudes.metrics import precision_at_k, recall_at_k
from tests.encoder.prime_problems import SMALL, colors, epochs, prime, weights

ROOT = Path(__file__).parents[2]
CLUSTERED = SamplerConfig(batch_size=16)  # of 48 instances: three steps an epoch

# Trains in a process of its own, which is killed in the middle of its sixth step.
KILLED = """
import os, signal, sys
from multitudes.encoder.network import PrimeNetwork
from tests.encoder.test_fitting import model, fit

steps, forward = [], PrimeNetwork.forward

def killed(self, batch):
    steps.append(batch)
    if len(steps) == 6:
        os.kill(os.getpid(), signal.SIGKILL)
    return forward(self, batch)

PrimeNetwork.forward = killed
fit(model(checkpoint_minutes=0, log_every=1), sys.argv[1])
"""


def model(**training):
    return prime(sampler=CLUSTERED, training=epochs(3, **training))


def fit(model, checkpoint=None):
    texts, Y, names = colors()
    return model.fit(texts, Y, label_texts=names, checkpoint=checkpoint)


def assert_same(left, right):
    for name, value in weights(left).items():
        np.testing.assert_array_equal(value, weights(right)[name], err_msg=name)
    np.testing.assert_array_equal(left.label_vectors_, right.label_vectors_)


# --- checkpoints


def test_a_killed_training_ends_with_the_same_weights(tmp_path, monkeypatch):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL
    whole, steps, forward = fit(model()), [], PrimeNetwork.forward
    monkeypatch.setattr(
        PrimeNetwork, "forward", lambda self, batch: steps.append(batch) or forward(self, batch)
    )
    resumed = fit(model(), tmp_path)
    assert len(steps) == 9 - 5  # the fifth step was the last to be kept
    assert_same(resumed, whole)


def test_a_finished_training_comes_back_until_its_folder_is_removed(tmp_path, monkeypatch):
    first = fit(model(), tmp_path / "run")
    assert (tmp_path / "run").exists()
    monkeypatch.setattr(PrimeNetwork, "forward", lambda self, batch: pytest.fail("trained again"))
    assert_same(fit(model(), tmp_path / "run"), first)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"loss": LossConfig(gamma_max=0.4)}, "loss.gamma_max"),
        ({"random_state": 5}, "training.random_state"),
        ({"prototypes": PrototypeConfig(momentum=0.5)}, "prototypes.momentum"),
        ({"backbone": BackboneConfig(**{**SMALL.to_dict(), "pooling": "cls"})}, "backbone.pooling"),
    ],
)
def test_a_checkpoint_of_other_settings_is_refused(tmp_path, changes, name):
    fit(model(), tmp_path)
    with pytest.raises(ConfigError, match=name):
        fit(model().set_params(**changes), tmp_path)


def test_a_checkpoint_of_other_data_is_refused(tmp_path):
    fit(model(), tmp_path)
    texts, Y, names = colors()
    with pytest.raises(ConfigError, match="data"):
        model().fit(texts[::-1], Y, label_texts=names, checkpoint=tmp_path)


@pytest.mark.parametrize("other", [None, slice(1, None)])
def test_a_checkpoint_of_other_validation_data_is_refused(tmp_path, other):
    texts, Y, names = colors()
    options = {"label_texts": names, "checkpoint": tmp_path}
    model().fit(texts, Y, validation=(texts, Y), **options)
    validation = None if other is None else (texts[other], Y[other])
    with pytest.raises(ConfigError, match="validation"):
        model().fit(texts, Y, validation=validation, **options)


def test_a_checkpoint_of_an_encoder_that_has_changed_is_refused(tmp_path, monkeypatch):
    fit(model(), tmp_path)
    monkeypatch.setattr(
        "multitudes.encoder.prime.load_backbone",
        lambda config, *, texts, random_state: load_backbone(
            config, texts=texts, random_state=random_state + 1
        ),
    )
    with pytest.raises(ConfigError, match=r"backbone\.weights"):
        fit(model(), tmp_path)


# --- what a network starts from


def test_centroids_start_as_means_and_free_vectors_are_shared():
    texts, Y, names = colors(12)
    backbone = load_backbone(SMALL, texts=[*texts, *names])
    rows = [backbone.tokenize(some).rows for some in (texts, [*names[:5], ""])]
    config = PrimeConfig(PrototypeConfig(), LossConfig(), CLUSTERED, TrainingConfig())
    network, embeddings = start_network(TrainingTexts(*rows, Y), backbone, config)
    means = np.stack([embeddings[label::6].mean(axis=0) for label in range(6)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(network.centroids.vectors.numpy(), means, atol=1e-5)
    assert network.has_text.tolist() == [True] * 5 + [False]
    assert network.free_vectors.vectors.shape == (2, 32)


def test_the_fingerprint_of_data_tells_texts_and_labels_apart():
    texts, Y, names = colors(12)
    backbone = load_backbone(SMALL, texts=texts)
    one, labels = backbone.tokenize(texts).rows, backbone.tokenize(names).rows
    digest = TrainingTexts(one, labels, Y).digest()
    assert digest == TrainingTexts(backbone.tokenize(texts).rows, labels, Y).digest()
    assert digest != TrainingTexts(labels, one, Y).digest()
    other = sp.csr_array(Y.toarray()[:, ::-1].copy())
    assert digest != TrainingTexts(one, labels, other).digest()


# --- bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d | {"label_texts": None}, "needs the text of each label"),
        (lambda d: d | {"label_texts": ["red"]}, "6 labels, but there are 1 label_texts"),
        (lambda d: d | {"label_texts": "colors"}, "label_texts: expected a sequence of texts"),
        (lambda d: d | {"X": "one text"}, "X: expected a sequence of texts"),
        (lambda d: d | {"X": d["X"][:5]}, "X has 5 rows and y has 48"),
        (lambda d: d | {"X": [*d["X"][:-1], None]}, "None"),
        (lambda d: d | {"Y": sp.csr_array((48, 6), dtype=np.float32)}, "no instance has a label"),
        (lambda d: d | {"validation": (["a"], d["Y"])}, "validation data: X has 1 rows and y has"),
        (lambda d: d | {"validation": (["a"], d["Y"][:1, :3])}, "validation data: y has 3 labels"),
        (lambda d: d | {"validation": d["X"]}, r"validation must be a pair \(texts, Y\)"),
    ],
)
def test_bad_data_is_named(change, message):
    texts, Y, names = colors()
    given = change({"X": texts, "Y": Y, "label_texts": names})
    with pytest.raises(DataError, match=message):
        prime().fit(given.pop("X"), given.pop("Y"), **given)


def test_bad_settings_are_named():
    texts, Y, names = colors()
    with pytest.raises(ConfigError, match="precision must be one of .* got 'fp8'"):
        prime(precision="fp8").fit(texts, Y, label_texts=names)
    with pytest.raises(
        ConfigError, match=r"training\.random_state is 5, .* set random_state=5 of the model"
    ):
        prime(training=epochs(1, random_state=5)).fit(texts, Y, label_texts=names)
    with pytest.raises(ConfigError, match="there is no folder './nowhere'"):
        prime(backbone=BackboneConfig(name="./nowhere")).fit(texts, Y, label_texts=names)


def test_an_encoder_that_is_missing_offline_is_named(monkeypatch):
    import huggingface_hub

    def unreachable(name, **settings):
        raise OSError("no connection")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", unreachable)
    texts, Y, names = colors()
    with pytest.raises(ConfigError, match="no encoder 'some/encoder' on this machine"):
        prime(backbone=BackboneConfig(name="some/encoder")).fit(texts, Y, label_texts=names)


def test_a_loss_that_is_no_number_stops_the_training(tmp_path, monkeypatch):
    forward = PrimeNetwork.forward

    def broken(self, batch):
        terms, instances = forward(self, batch)
        return {name: value * float("nan") for name, value in terms.items()}, instances

    monkeypatch.setattr(PrimeNetwork, "forward", broken)
    with pytest.raises(TrainingError, match=r"epoch 1 of 3, batch 1 .* learning_rate below 0.005"):
        fit(model(), tmp_path)
    assert (tmp_path / "diverged").exists()


def test_too_little_memory_names_what_to_lower(monkeypatch):
    def full(self, batch):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(PrimeNetwork, "forward", full)
    with pytest.raises(ResourceError, match="lower batch_size"):
        fit(model())


# --- batches that lack something


def test_one_label_has_no_negatives_and_nothing_to_learn():
    texts, Y, names = colors(8, labels=("red",))
    found = prime(training=epochs(2)).fit(texts, Y, label_texts=names)
    assert [epoch.terms["query_to_prototype"] for epoch in found.history_.epochs] == [0, 0]
    assert np.isfinite(found.label_vectors_).all()
    assert found.predict(texts, top_k=3).labels.tolist() == [[0, -1, -1]] * 8


def test_fewer_labels_than_negatives_asked_for():
    texts, Y, names = colors(16)
    found = prime(loss=LossConfig(n_negatives=1000), training=epochs(1))
    assert np.isfinite(found.fit(texts, Y, label_texts=names).history_.epochs[0].terms["loss"])


def test_empty_texts_all_look_alike():
    texts, Y, names = colors(12)
    found = prime(training=epochs(1)).fit(["", *texts[1:]], Y, label_texts=names)
    assert found.n_empty_ == 1
    one, other = found.embed(["", " "])
    np.testing.assert_allclose(one, other, atol=1e-6)
    assert np.linalg.norm(one) == pytest.approx(1, abs=1e-5)


def test_new_labels_of_which_nothing_is_known_are_refused():
    found = fit(model())
    with pytest.raises(DataError, match="label 1 of the 2 to be added has no word"):
        found.add_labels(["purple", ""])
    with pytest.raises(DataError, match="2 label_texts and examples for 1"):
        found.add_labels(["purple", "pink"], [["a text"]])
    with pytest.raises(DataError, match=r"examples\[0\] must be a list of texts"):
        found.add_labels(["purple"], ["a text"])
    assert found.n_labels_ == 6
    found.add_labels([""], [["a purple thing"]])
    assert found.n_labels_ == 7


def test_a_text_encoder_refuses_examples():
    only_text = PrototypeConfig(sources=("text",), combine="sum", source_dropout=0.0)
    found = fit(model().set_params(prototypes=only_text))
    with pytest.raises(ConfigError, match="cannot use examples"):
        found.add_labels(["purple"], [["a purple thing"]])


def test_it_measures_what_prediction_gives():
    texts, Y, names = colors()
    model = prime(training=epochs(2)).fit(texts, Y, label_texts=names)
    backbone = model.network_.backbone
    measure = Validation(backbone.tokenize(texts).rows, Y, model.label_rows_)
    found = model.predict(texts, top_k=100)
    measured = measure(model.network_)
    assert measured["P@1"] == pytest.approx(precision_at_k(found, Y, k=1))
    assert measured["P@5"] == pytest.approx(precision_at_k(found, Y, k=5))
    assert measured["R@100"] == pytest.approx(recall_at_k(found, Y, k=100)) == 1
    assert np.isfinite(list(measured.values())).all()


def test_it_leaves_the_network_as_it_was():
    texts, Y, names = colors()
    model = prime(training=epochs(1)).fit(texts, Y, label_texts=names)
    model.network_.train()
    Validation(model.network_.backbone.tokenize(texts).rows, Y, model.label_rows_)(model.network_)
    assert model.network_.training
    assert model.network_.backbone.training
