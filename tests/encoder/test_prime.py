"""Prime on the embedded catalogue: learns, predicts, takes new labels, saves and resumes."""

import dataclasses

import numpy as np
import pytest
import torch

from multitudes.data import catalogue, split
from multitudes.encoder.backbone_config import BackboneConfig
from multitudes.encoder.classifier import ClassifierConfig
from multitudes.encoder.presets import PRESETS, prime_preset
from multitudes.encoder.prime import Prime
from multitudes.encoder.prototype_config import PrototypeConfig
from multitudes.encoder.sampling import SamplerConfig
from multitudes.errors import ConfigError, DataError, NotFittedError
from multitudes.metrics import precision_at_k
from multitudes.store import load, save
from multitudes.training import TrainingConfig

SMALL = BackboneConfig(
    name="scratch", max_length=24, scratch_layers=1, scratch_dim=64, scratch_vocabulary=2048
)
QUICK = TrainingConfig(epochs=6, learning_rate=3e-3, warmup_steps=5, device="cpu")
BATCH = SamplerConfig(batch_size=64)


@pytest.fixture(scope="module")
def data():
    whole = catalogue(n_instances=600, n_labels=40, seed=3).dataset
    return split(whole, test_size=0.2, seed=0)


def prime(**changes):
    settings = {"backbone": SMALL, "training": QUICK, "sampler": BATCH}
    return Prime(**(settings | changes))


@pytest.fixture(scope="module")
def fitted(data):
    train, _ = data
    return prime().fit(train.texts, train.Y, label_texts=train.label_names)


def test_learns(data, fitted):
    train, test = data
    found = precision_at_k(fitted.predict(test.texts, top_k=1), test.Y, k=1)
    untrained = prime(training=dataclasses.replace(QUICK, epochs=1, learning_rate=1e-9))
    untrained.fit(train.texts, train.Y, label_texts=train.label_names)
    assert found > 0.6
    assert found > precision_at_k(untrained.predict(test.texts, top_k=1), test.Y, k=1) + 0.2
