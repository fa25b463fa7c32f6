"""Packages with models, made and installed as pip would do it, into a folder of the test."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

DECLARED = """
from multitudes.models import ModelSpec

STORED = {"acme-words": "acme_words.model:WordCounts"}
WORDS = ModelSpec(
    "acme-words", "labels by the words they share", "acme_words.model:WordCounts", stored=STORED
)
READER = ModelSpec(
    "acme-reader",
    "the same from texts",
    "acme_words.model:TextCounts",
    {"counting__power": 3.0},
    reads="texts",
    stored=STORED | {"acme-reader": "acme_words.model:TextCounts"},
)
"""
MODEL = '''
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from multitudes.config import Config, setting
from multitudes.estimator import Estimator
from multitudes.features import HashingFeatures
from multitudes.store import State
from multitudes.types import Predictions


@dataclass(frozen=True)
class CountingConfig(Config):
    """How words count."""

    power: float = setting(1.0, "Power of a word's weight.", above=0)


class WordCounts(Estimator):
    """Labels by the words they share with a text.

    Parameters
    ----------
    counting : CountingConfig
    smoothing : float
        Added to every weight.
    """

    fitted_attribute = "weights_"
    kind = "acme-words"

    def __init__(self, *, counting=CountingConfig(), smoothing: float = 0.0):
        self.counting = counting
        self.smoothing = smoothing

    def fit(self, X, y):
        self.weights_ = np.asarray((y.T @ X).todense(), np.float32) ** self.counting.power
        self.weights_ += self.smoothing
        return self

    def predict(self, X, *, top_k=5):
        return Predictions.from_csr(sp.csr_array(np.asarray(X @ self.weights_.T)), top_k)

    def to_state(self):
        config = {"counting": self.counting.to_dict(), "smoothing": self.smoothing}
        return State(self.kind, config, {"weights": self.weights_})

    @classmethod
    def from_state(cls, state):
        counting = CountingConfig.from_dict(state.config["counting"])
        model = cls(counting=counting, smoothing=state.config["smoothing"])
        model.weights_ = state.arrays["weights"]
        return model


class TextCounts(WordCounts):
    """The same from texts."""

    reads_texts = True
    kind = "acme-reader"

    def fit(self, X, y):
        return super().fit(HashingFeatures().fit_transform(X), y)

    def predict(self, X, *, top_k=5):
        return super().predict(HashingFeatures().fit_transform(X), top_k=top_k)
'''
ENTRIES = {"acme-words": "acme_words:WORDS", "acme-reader": "acme_words:READER"}


def install(
    folder: Path,
    entries: dict[str, str] = ENTRIES,
    *,
    name: str = "acme-words",
    files: dict[str, str] | None = None,
) -> Path:
    """Build a wheel of a package and install it into a folder, to be put on the path."""
    module = name.replace("-", "_")
    files = {"__init__.py": DECLARED, "model.py": MODEL} if files is None else files
    info = f"{module}-1.5.dist-info"
    declared = "\n".join(f"{model} = {home}" for model, home in entries.items())
    contents = {f"{module}/{path}": text for path, text in files.items()} | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[multitudes.models]\n{declared}\n",
    }
    contents[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in contents)
    wheel = folder / f"{module}-1.5-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in contents.items():
            archive.writestr(path, text)
    site = folder / "site"
    if importlib.util.find_spec("pip") is None:  # to unpack a wheel is to install it
        zipfile.ZipFile(wheel).extractall(site)
        return site
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command += ["--disable-pip-version-check", "--target", str(site), str(wheel)]
    subprocess.run(command, check=True, capture_output=True)
    return site
