"""Texts of five topics, an encoder that learns them in seconds, and a model that only notes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from multitudes.data import Dataset
from multitudes.data.label_lists import label_lists_matrix
from multitudes.tagger import Tagger
from multitudes.types import Predictions

TOPICS = {
    "belts": "leather buckle waist strap",
    "fish": "bass river scales angler",
    "fruit": "apple pear juicy orchard",
    "music": "guitar melody chord concert",
    "planets": "orbit mercury moon crater",
}
SETTINGS: dict[str, Any] = {
    "backbone.name": "scratch",
    "backbone.scratch_layers": 1,
    "backbone.scratch_dim": 32,
    "backbone.max_length": 12,
    "sampler.batch_size": 20,
    "sampler.clustered": False,
    "training.epochs": 8,
    "training.learning_rate": 5e-3,
    "training.warmup_steps": 4,
}


def topical(n: int, *, start: int = 0) -> Dataset:
    """Instances with two or three words of one topic, which is their label."""
    names = list(TOPICS)
    texts, labels = [], []
    for i in range(start, start + n):
        words = TOPICS[names[i % 5]].split()
        order = np.random.default_rng(i).permutation(4)[: 2 + i % 2]
        texts.append(" ".join(words[j] for j in order))
        labels.append([names[i % 5]])
    Y, _ = label_lists_matrix(labels, names)
    return Dataset(Y=Y, texts=texts, label_names=names)


def tiny(model: Any = "prime-lite", **changes: Any) -> Tagger:
    """An unfitted tagger that fits in seconds."""
    return Tagger(model, settings={**SETTINGS, **changes}, device="cpu", n_jobs=1)


class Reader(BaseEstimator):
    """A model over texts that learns nothing but what it was given."""

    reads_texts = True
    needs_label_texts = True
    trains_in_epochs = True

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: Any, Y: Any, *, label_texts=None, validation=None, checkpoint=None) -> Self:
        self.given_ = {
            "texts": list(X),
            "Y": Y,
            "label_texts": label_texts,
            "validation": validation,
            "checkpoint": checkpoint,
        }
        return self

    def predict(self, X: Any, *, top_k: int = 5) -> Predictions:
        labels = [[0] for _ in X]
        return Predictions.from_lists(labels, None, self.given_["Y"].shape[1])
