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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.disentangle import at_least_one, with_margin
from benchmarks.disentangle_summary import mean_and_margin
from benchmarks.miml_figures import draw
from benchmarks.miml_study import DEEP_MIML, EAGLE, EAGLE_0, Plan, study
from benchmarks.report import finish, show
from multitudes.errors import MultitudesError, require

KEYS = {DEEP_MIML: "deep_miml", EAGLE_0: "eagle0", EAGLE: "eagle"}


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
