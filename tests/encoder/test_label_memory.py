"""Label tables in the host's memory: the same training as with them on the device."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from multitudes.encoder.prime import Prime
from multitudes.encoder.prototypes.centroids import Centroids
from multitudes.encoder.prototypes.free_vectors import FreeVectors
from multitudes.encoder.prototypes.label_memory import LabelMemory
from multitudes.encoder.prototypes.network import PrototypeConfig
from multitudes.encoder.sampling import SamplerConfig
from multitudes.errors import ConfigError
from multitudes.store import load, save
from tests.encoder.prime_problems import epochs, prime, things, weights

TOUCHED = PrototypeConfig(free_updates="touched", centroid_leak="drop")
HOST = PrototypeConfig(label_memory="host", centroid_leak="drop")


def fit(prototypes, checkpoint=None, n_epochs=3, **training):
    texts, Y, names = things(n_each=4)
    names[3] = ""
    settings = epochs(n_epochs, **training)
    # 144 instances in batches of 6: rows come and go, and a batch has labels of the one before.
    sampler = SamplerConfig(batch_size=6, positives=1, prefetch=2)
    model = prime(prototypes=prototypes, sampler=sampler, training=settings)
    model.fit(texts, Y, label_texts=names, validation=(texts[::9], Y[::9]), checkpoint=checkpoint)
    return model


def assert_same(left, right):
    for name, value in weights(left).items():
        np.testing.assert_allclose(value, weights(right)[name], atol=1e-6, rtol=0, err_msg=name)
    np.testing.assert_allclose(left.label_vectors_, right.label_vectors_, atol=1e-6, rtol=0)


@pytest.fixture(scope="module")
def on_host():
    return fit(HOST)


def test_host_and_device_train_the_same(on_host):
    assert_same(on_host, fit(TOUCHED))


def test_accumulated_and_clipped_gradients_too():
    settings = {"accumulate": 2, "clip": 0.1, "n_epochs": 1}
    assert_same(fit(HOST, **settings), fit(TOUCHED, **settings))


def test_a_stopped_training_goes_on(on_host, tmp_path, monkeypatch):
    from multitudes.encoder.network import PrimeNetwork

    steps, forward = [], PrimeNetwork.forward

    def stopped(self, batch):
        steps.append(batch)
        if len(steps) == 35:  # in the middle of the second epoch
            raise ZeroDivisionError
        return forward(self, batch)

    monkeypatch.setattr(PrimeNetwork, "forward", stopped)
    with pytest.raises(ZeroDivisionError):
        fit(HOST, tmp_path, checkpoint_minutes=0, log_every=8)
    monkeypatch.undo()
    assert_same(fit(HOST, tmp_path, checkpoint_minutes=0, log_every=8), on_host)


def test_it_is_saved_loaded_and_updated(on_host, tmp_path):
    save(on_host, tmp_path / "model")
    again = load(tmp_path / "model")
    assert isinstance(again, Prime)
    texts, Y, _ = things(n_each=4)
    found = again.predict(texts[:8]), on_host.predict(texts[:8])
    np.testing.assert_array_equal(found[0].labels, found[1].labels)
    before = again.label_vectors_.copy()
    again.partial_fit(texts[:12], Y[:12])
    assert np.abs(again.label_vectors_ - before).max() > 1e-4


def test_only_a_few_rows_are_on_the_device():
    """Of 1,000 labels, as many as batches of 10 need: two ahead, and two on their way back."""
    memory = LabelMemory(
        Centroids(1000, 4, on_host=True),
        FreeVectors(np.arange(1000) // 2, 500, 4, on_host=True),
        labels_at_once=10,
        batches_ahead=2,
        device=torch.device("cpu"),
    )
    assert memory.centroids.vectors.shape == (40, 4)
    assert memory.free_vectors.vectors.shape == (40, 4)
    assert all(m.shape == (40, 4) for rows in memory.sparse_rows for m in rows.moments.values())


def test_tables_on_the_host_stay_there():
    """`meta` stands for a GPU: what is moved there has no values any more."""
    centroids = Centroids(5, 2, on_host=True).to("meta")
    bank = FreeVectors(np.arange(5), 5, 2, on_host=True).to("meta")
    assert centroids.vectors.device.type == bank.vectors.device.type == "cpu"
    assert Centroids(5, 2).to("meta").vectors.device.type == "meta"


def test_all_free_vectors_cannot_move_on_the_host():
    with pytest.raises(ConfigError, match='free_updates="touched"'):
        PrototypeConfig(label_memory="host", free_updates="all")
