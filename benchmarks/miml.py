"""What does the mask add to Deep-MIML? ``python -m benchmarks.miml``.

After section 7.3 of the EAGLE paper, on the 1,797 digits of 8 x 8 pixels that come with
scikit-learn: 1,200 images to train on, 240 to validate, 357 to test. Raw pixels, divided by 16,
minus the mean of the training images; bags of random images with list-merged labels:

- g4: 300 bags of 4;
- g50: 24 bags of 50;
- g50x50: all images dealt 50 times, 1,200 bags of 50: as many bags as MNIST gives in the paper, but
  of fewer different images.

The network is FC + ReLU (128), FC + ReLU to 4 concepts of 10 labels, and the two maxima of Eq. 7;
the same for Deep-MIML, EAGLE-0 and EAGLE, which differ in the mask alone. Accuracy is on single
test images. "L alone" is the label embedding nearest to an image, without any network.

As in the paper the learning rate is the best for Deep-MIML on validation images and kept for all,
and the epoch is the best on validation images. tau is chosen in the same way for each mask. The
search has a division of the images of its own; then each seed divides, deals and starts anew.

Accuracies are percentages, means over seeds, +/- is the half-width of a 95% t-interval over seeds;
gains over Deep-MIML are taken seed by seed. Two losses: proportion, our reading of the paper, and
counts, which compares the list with the mean of the instances' probabilities.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.datasets import load_digits

from benchmarks.figures import saved
from benchmarks.report import at_least_one, finish, mean_and_margin, show, with_margin
from multitudes.data.groups import merge_labels, random_groups
from multitudes.errors import MultitudesError, require
from multitudes.groups.miml import DeepMIML, MIMLTraining
from multitudes.groups.miml.bags import Bags
from multitudes.groups.miml.label_embeddings import embeddings_of
from multitudes.types import FloatArray

N_TRAIN, N_VALIDATION = 1200, 240  # and 357 images to test on
DEEP_MIML, EAGLE_0, EAGLE = "Deep-MIML", "EAGLE-0", "EAGLE"
KEYS = {DEEP_MIML: "deep_miml", EAGLE_0: "eagle0", EAGLE: "eagle"}
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


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """Means and margins of one setting's runs, gains over Deep-MIML, and the runs themselves."""
    numbers: dict[str, Any] = {}
    for loss, methods in found["networks"].items():
        base = methods[DEEP_MIML]
        for method, accuracies in methods.items():
            key = f"{loss}_{KEYS[method]}"
            numbers[key], numbers[f"{key}_margin"] = mean_and_margin(accuracies)
            if method != DEEP_MIML:
                gains = [ours - plain for ours, plain in zip(accuracies, base, strict=True)]
                numbers[f"{key}_gain"], numbers[f"{key}_gain_margin"] = mean_and_margin(gains)
    for method, accuracies in found["embeddings_alone"].items():
        key = f"alone_{KEYS[method]}"
        numbers[key], numbers[f"{key}_margin"] = mean_and_margin(accuracies)
    return {**numbers, **found}


def show_settings(results: dict[str, Any]) -> None:
    """A table like the paper's Table 3 for each loss, and one of gains."""
    names = list(results)
    for loss in next(iter(results.values()))["networks"]:
        rows = [
            (method, *(cell(results[name], f"{loss}_{key}") for name in names))
            for method, key in KEYS.items()
        ]
        show(f"accuracy, loss: {loss}", ("", *names), rows)
        rows = [
            (method, *(gain(results[name], f"{loss}_{key}_gain") for name in names))
            for method, key in KEYS.items()
            if method != DEEP_MIML
        ]
        show(f"gain over Deep-MIML, loss: {loss}", ("", *names), rows)
    rows = [
        (method, *(cell(results[name], f"alone_{KEYS[method]}") for name in names))
        for method in (EAGLE_0, EAGLE)
    ]
    show("accuracy, L alone", ("", *names), rows)


def cell(numbers: dict[str, Any], key: str) -> str:
    """A mean with its margin."""
    return gain(numbers, key).lstrip("+")


def gain(numbers: dict[str, Any], key: str) -> str:
    """The same with a sign."""
    return with_margin(numbers[key], numbers[f"{key}_margin"])


def draw(folder: Path) -> Path:
    """Embeddings of the ten digits from bags of 4 and of 50, above the true class means."""
    require("matplotlib", extra="dev")
    from matplotlib.figure import Figure

    rows: dict[str, FloatArray] = {}
    for setting in SETTINGS[:2]:
        data = divided(setting, 0)
        rows["class means"] = class_means(data)
        for method, found in data.embeddings().items():
            rows[f"{method}, bags of {setting.size}"] = found
    figure = Figure(figsize=(8.4, 0.85 * len(rows)), layout="constrained")
    panels = figure.subplots(len(rows), 10)
    for line, (name, embeddings) in zip(panels, rows.items(), strict=True):
        for axes, embedding in zip(line, embeddings, strict=True):
            limit = float(np.abs(embedding).max())
            axes.imshow(embedding.reshape(8, 8), cmap="gray", vmin=-limit, vmax=limit)
            axes.set_xticks([])
            axes.set_yticks([])
        line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
    for digit, axes in enumerate(panels[0]):
        axes.set_title(str(digit), fontsize=9)
    folder.mkdir(parents=True, exist_ok=True)
    return saved(figure, folder / "miml-embeddings.png")


def class_means(data: Digits) -> FloatArray:
    """What the embeddings should come near to: the mean image of each digit, of unit length."""
    sums = data.train.Y.T @ data.train.X
    means: FloatArray = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return means


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.miml",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=at_least_one, default=Plan().seeds)
    parser.add_argument("--no-store", action="store_true", help="only print")
    parser.add_argument("--figures", type=Path, help="folder to draw in; none by default")
    return parser.parse_args(given)


def main() -> None:
    given = arguments()
    plan = Plan(seeds=given.seeds)
    torch.set_num_threads(1)
    try:
        if given.figures is not None:
            require("matplotlib", extra="dev")  # not after minutes of work
        results = {one.name: summary(study(one, plan)) for one in plan.settings}
    except MultitudesError as error:
        sys.exit(str(error))
    show_settings(results)
    if given.figures is not None:
        print(f"drawn: {draw(given.figures)}")
    sets = {"torch": torch.__version__, "seeds": plan.seeds, "settings": results}
    finish("miml", sets, store=not given.no_store)


if __name__ == "__main__":
    main()
