"""Objects whose methods are called: small fitted models, and what is made of them."""

from __future__ import annotations

import copy
import importlib.util
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from campaigns.api import matrices, values
from campaigns.api.values import F, L, N

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "0.1"
STORED = {
    "Tagger": "tagger", "Tagger of features": "tagger-features", "XRLinear": "xr-linear",
    "Parabel": "parabel", "OneVsAll": "one-vs-all", "Disentangled": "disentangled",
    "Eagle": "eagle",
    "DeepMIML": "deep-miml", "Prime": "prime", "OTSeq2Set": "otseq2set", "TfidfFeatures": "tfidf",
    "PassThrough": "pass-through", "DenseFeatures": "dense-features",
    "EncoderFeatures": "encoder-features",
}  # fmt: skip
NEEDS = {
    "DeepMIML": "torch",
    "OTSeq2Set": "torch",
    "Prime": "transformers",
    "EncoderFeatures": "transformers",
}


class Subjects:
    """Makes fresh copies of fitted objects, by class name."""

    def __init__(self) -> None:
        from multitudes import load

        self.missing = {
            name: f"needs {package}"
            for name, package in NEEDS.items()
            if not importlib.util.find_spec(package)
        }
        self.made: dict[str, Any] = {
            name: load(GOLDEN / folder / "model")
            for name, folder in STORED.items()
            if name not in self.missing
        }
        self.made |= _fitted(self.made["XRLinear"])

    def fresh(self, name: str) -> Any:
        """Return a copy that a call may change."""
        return copy.deepcopy(self.made[name])


def dataset(rng: random.Random) -> Any:
    """Return data of texts or of features."""
    from multitudes import Dataset

    Y = matrices.good(rng, (N, L), binary=True)
    if rng.random() < 0.7:
        return Dataset(texts=values.good_texts(rng), Y=Y, label_names=values.NAMES)
    return Dataset(X=matrices.good(rng, (N, F)), Y=Y, label_names=values.NAMES)


def _fitted(tree_model: Any) -> dict[str, Any]:
    from multitudes import scores
    from multitudes.data import LabelSpace
    from multitudes.features import ConcatFeatures, HashingFeatures, TfidfFeatures

    rng = random.Random(0)
    found, truth = values.good_predictions(rng), matrices.good(rng, (N, L), binary=True)
    makers: dict[str, Callable[[], Any]] = {
        name: getattr(scores, name)
        for name in ("Calibrated", "ExpectedF1", "GlobalThreshold", "LabelThresholds",
                     "IsotonicCalibration", "TemperatureCalibration")
    }  # fmt: skip
    made = {name: make().fit(found, truth) for name, make in makers.items()}
    texts = values.good_texts(rng)
    blocks = ConcatFeatures([TfidfFeatures(), HashingFeatures(n_features=64)])
    return {
        **made,
        "LabelTree": tree_model.tree_,
        "Predictions": found,
        "Dataset": dataset(rng),
        "LabelSpace": LabelSpace.of(dataset(rng)),
        "ConcatFeatures": blocks.fit(texts),
        "HashingFeatures": HashingFeatures(n_features=64),
    }


def arguments_of_fit(name: str) -> tuple[Any, ...]:
    """Return good data to fit a class on, after its constructor has got odd parameters."""
    rng = random.Random(1)
    X, Y = matrices.good(rng, (N, F)), matrices.good(rng, (N, L), binary=True)
    texts = values.good_texts(rng)
    alone = sp.csr_array(sp.eye_array(N, dtype="f4"))
    if name == "Tagger":
        return texts, values.good_label_lists(rng)
    if name in ("Eagle", "DeepMIML"):
        return X, alone, Y
    if name in ("TfidfFeatures", "HashingFeatures", "ConcatFeatures", "EncoderFeatures"):
        return (texts,)
    if name in ("PassThrough", "DenseFeatures"):
        return (X if name == "PassThrough" else X.toarray(),)
    if name in ("Prime", "OTSeq2Set"):
        return texts, Y
    if "Calibrat" in name or "Threshold" in name or name == "ExpectedF1":
        return values.good_predictions(rng), Y
    return X, Y
