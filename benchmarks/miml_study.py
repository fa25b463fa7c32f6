"""Runs of `benchmarks.miml`: digits in bags, networks trained on them, tested on single images."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits

from multitudes.data.grouping import merge_labels, random_groups
from multitudes.groups.miml import DeepMIML, MIMLTraining
from multitudes.groups.miml.bags import Bags
from multitudes.groups.miml.label_embeddings import embeddings_of
from multitudes.types import FloatArray

N_TRAIN, N_VALIDATION = 1200, 240  # and 357 images to test on
DEEP_MIML, EAGLE_0, EAGLE = "Deep-MIML", "EAGLE-0", "EAGLE"
CHOICES = {EAGLE_0: "eagle-0", EAGLE: "eagle"}
METHODS = (DEEP_MIML, EAGLE_0, EAGLE)
LOSSES = ("proportion", "counts")
SEARCH_SEED = 1000  # hyper-parameters are chosen on a division of the images of its own


@dataclass(frozen=True)
class Setting:
    """A way to put the training images into bags."""

    name: str
    size: int  # images of a bag
    deals: int  # how often all images are dealt into bags
    batch_size: int
    n_epochs: int


SETTINGS = (
    Setting("g4", size=4, deals=1, batch_size=64, n_epochs=60),
    Setting("g50", size=50, deals=1, batch_size=8, n_epochs=100),
    Setting("g50x50", size=50, deals=50, batch_size=64, n_epochs=15),
)


@dataclass(frozen=True)
class Plan:
    """What is run."""

    seeds: int = 5
    settings: tuple[Setting, ...] = SETTINGS
    learning_rates: tuple[float, ...] = (1e-3, 3e-3)
    taus: tuple[float, ...] = (0.1, 0.3, 1.0)
    hidden_size: int = 128
    n_concepts: int = 4


class Part(NamedTuple):
    """Images (n, 64) and their digits, as one-hot CSR (n, 10)."""

    X: FloatArray
    Y: sp.csr_array[Any]


class Digits(NamedTuple):
    """One division of the images, and the bags of the training part."""

    train: Part
    validation: Part
    test: Part
    groups: sp.csr_array[Any]
    group_labels: sp.csr_array[Any]

    def embeddings(self) -> dict[str, FloatArray]:
        """L of the two masks, (10, 64)."""
        bags = Bags(self.train.X, sp.csr_array(self.groups.T), self.group_labels)
        found = {method: embeddings_of(bags, choice) for method, choice in CHOICES.items()}
        return {method: one for method, one in found.items() if one is not None}


def divided(setting: Setting, random_state: int) -> Digits:
    """Divide the images at random, subtract the training mean, deal the training images into bags.

    Pixels are divided by 16, their largest value. Labels are list-merged.
    """
    pixels, digits = load_digits(return_X_y=True)
    rng = np.random.default_rng(random_state)
    order = rng.permutation(len(pixels))
    train = order[:N_TRAIN]
    X = ((pixels - pixels[train].mean(axis=0)) / 16).astype(np.float32)
    Y = np.eye(10, dtype=np.float32)[digits]
    first, second, third = (
        Part(X[rows], sp.csr_array(Y[rows]))
        for rows in np.split(order, [N_TRAIN, N_TRAIN + N_VALIDATION])
    )
    deals = [random_groups(N_TRAIN, setting.size, random_state=rng) for _ in range(setting.deals)]
    groups = sp.csr_array(sp.hstack(deals))
    return Digits(first, second, third, groups, merge_labels(first.Y, groups))


@dataclass(frozen=True)
class Trial:
    """What differs from run to run."""

    loss: str
    random_state: int
    tau: float
    learning_rate: float


def trained(
    data: Digits, embeddings: FloatArray | None, setting: Setting, plan: Plan, trial: Trial
) -> DeepMIML:
    """A network of the epoch that is best on the validation images."""
    training = MIMLTraining(
        n_epochs=setting.n_epochs,
        batch_size=setting.batch_size,
        learning_rate=trial.learning_rate,
        patience=setting.n_epochs,
        monitor="precision",
    )
    model = DeepMIML(
        n_concepts=plan.n_concepts,
        tau=trial.tau,
        label_embeddings=embeddings,
        hidden_size=plan.hidden_size,
        loss=trial.loss,
        training=training,
        device="cpu",
        random_state=trial.random_state,
    )
    single = (data.validation.X, None, data.validation.Y)
    return model.fit(data.train.X, data.groups, data.group_labels, validation=single)


def search(setting: Setting, plan: Plan) -> dict[str, Any]:
    """For each loss the learning rate that suits Deep-MIML, and the tau that suits each mask."""
    data = divided(setting, SEARCH_SEED)
    embeddings = data.embeddings()

    def accuracy(method: str, trial: Trial) -> float:
        model = trained(data, embeddings.get(method), setting, plan, trial)
        return max(epoch.validation_precision or 0.0 for epoch in model.history_)

    chosen: dict[str, Any] = {}
    for loss in LOSSES:
        rate = best(
            (accuracy(DEEP_MIML, Trial(loss, 0, 0.0, value)), value)
            for value in plan.learning_rates
        )
        taus = {
            method: best((accuracy(method, Trial(loss, 0, tau, rate)), tau) for tau in plan.taus)
            for method in CHOICES
        }
        chosen[loss] = {"learning_rate": rate, "tau": {DEEP_MIML: 0.0, **taus}}
    return chosen


def best(scored: Iterable[tuple[float, float]]) -> float:
    """The value with the highest score; the first of equal ones, which is the smallest."""
    return max(scored, key=lambda pair: pair[0])[1]


def nearest(embeddings: FloatArray, part: Part) -> float:
    """Accuracy of the label with the largest inner product, in percent."""
    found = (part.X @ embeddings.T).argmax(axis=1)
    return 100 * float(part.Y.toarray()[np.arange(len(found)), found].mean())


def study(setting: Setting, plan: Plan) -> dict[str, Any]:
    """All runs of one setting: test accuracies in percent, a list over seeds for each method."""
    started = time.perf_counter()
    chosen = search(setting, plan)
    networks: dict[str, dict[str, list[float]]] = {
        loss: {method: [] for method in METHODS} for loss in LOSSES
    }
    alone: dict[str, list[float]] = {method: [] for method in CHOICES}
    for random_state in range(plan.seeds):
        data = divided(setting, random_state)
        embeddings = data.embeddings()
        for method, own in embeddings.items():
            alone[method].append(nearest(own, data.test))
        for loss, methods in networks.items():
            rate, taus = chosen[loss]["learning_rate"], chosen[loss]["tau"]
            for method, found in methods.items():
                trial = Trial(loss, random_state, taus[method], rate)
                model = trained(data, embeddings.get(method), setting, plan, trial)
                found.append(100 * model.score(*data.test))
    return {
        "bags": -(-N_TRAIN // setting.size) * setting.deals,
        "chosen": chosen,
        "networks": networks,
        "embeddings_alone": alone,
        "seconds": time.perf_counter() - started,
    }
