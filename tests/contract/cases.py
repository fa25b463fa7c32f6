"""Every model of the library with a tiny problem that it learns in a second."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

import multitudes
from multitudes.disentangle import Disentangled
from multitudes.groups import Eagle
from multitudes.lexical import Lexical
from multitudes.linear import OneVsAll, Parabel, XRLinear

NOT_MODELS = {"Model", "Tagger"}  # a protocol, and what is made of a model and features
N, N_LABELS, N_FEATURES = 150, 40, 40
TREE = {"branching": 4, "max_leaf_size": 5, "beam_width": 4}


@dataclass(frozen=True)
class Case:
    """How a model is made and fitted.

    Parameters
    ----------
    make : function
        An unfitted model with small settings.
    data : function
        (X, Y), texts or features and a CSR.
    fit : function of model, X, y
        Fits it on them and returns what `fit` returns.
    can : frozenset of str
        The protocols of `multitudes.types` that it meets, beside `Model`.
    tolerance : float
        By how much scores may differ between a batch and its single rows: 0 but for networks.
    """

    make: Callable[[], Any]
    data: Callable[[], tuple[Any, Any]]
    fit: Callable[[Any, Any, Any], Any]
    can: frozenset[str]
    tolerance: float = 0.0


def public_models() -> dict[str, type]:
    """All public classes with fit and predict, by name: of whatever package there is."""
    found = {}
    for package in pkgutil.iter_modules(multitudes.__path__, "multitudes."):
        if not package.name.endswith("__main__"):
            found |= models_of(importlib.import_module(package.name))
    return found


def models_of(module: Any) -> dict[str, type]:
    """The classes with fit and predict that a module exports."""
    public = {name: getattr(module, name) for name in getattr(module, "__all__", ())}
    return {
        name: one
        for name, one in public.items()
        if name not in NOT_MODELS
        and inspect.isclass(one)
        and hasattr(one, "fit")
        and hasattr(one, "predict")
    }


@cache
def features() -> tuple[Any, Any]:
    """X, Y of 150 instances: a label's instances tend to have its two features."""
    rng = np.random.default_rng(0)
    Y = rng.random((N, N_LABELS)) < 2 / N_LABELS
    Y[np.arange(N), rng.integers(0, N_LABELS, N)] = True
    own = rng.random((N_LABELS, N_FEATURES)) < 2 / N_FEATURES
    X = Y @ (own * 1.0) + (rng.random((N, N_FEATURES)) < 0.1)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1)
    return sp.csr_array(X.astype(np.float32)), sp.csr_array(Y.astype(np.float32))


def plain_fit(model: Any, X: Any, y: Any) -> Any:
    return model.fit(X=X, y=y)


def fit_groups(model: Any, X: Any, y: Any) -> Any:
    """Every instance is a group of one."""
    groups = sp.csr_array(sp.eye_array(X.shape[0], dtype=np.float32))
    return model.fit(X, groups, y)


UPDATES = frozenset({"Updates", "AddsLabels", "RemovesLabels"})
SCORES = frozenset({"Explains", "ScoresPairs", "RestrictsLabels"})
PARTITIONS = frozenset({"PartitionModel"})
TEXTS = frozenset({"ReadsTexts", "TakesLabelTexts", "TrainsInEpochs", "MovesToDevice"})


def feature_cases() -> dict[str, Case]:
    """Models over features with ``fit(X, y)``."""
    return {
        "XRLinear": Case(
            lambda: XRLinear(**TREE), features, plain_fit, UPDATES | SCORES | PARTITIONS
        ),
        "Parabel": Case(
            lambda: Parabel(n_trees=2, **TREE), features, plain_fit, UPDATES | SCORES | PARTITIONS
        ),
        "OneVsAll": Case(OneVsAll, features, plain_fit, UPDATES | SCORES),
        "Disentangled": Case(
            lambda: Disentangled(XRLinear(**TREE)), features, plain_fit, UPDATES | SCORES
        ),
    }


def name_cases() -> dict[str, Case]:
    """Models over texts that need no network."""
    can = UPDATES | {"ReadsTexts", "TakesLabelTexts", "LearnsFromNames"}
    return {"Lexical": Case(Lexical, texts, fit_texts, can | {"Explains", "RestrictsLabels"})}


def group_cases() -> dict[str, Case]:
    """Models over features with ``fit(X, groups, group_labels)``."""

    def deep_miml() -> Any:
        from multitudes.groups import DeepMIML, MIMLTraining

        return DeepMIML(training=MIMLTraining(n_epochs=20, learning_rate=0.01), device="cpu")

    return {
        "Eagle": Case(lambda: Eagle(XRLinear(**TREE)), features, fit_groups, frozenset()),
        "DeepMIML": Case(deep_miml, features, fit_groups, frozenset(), tolerance=1e-5),
    }


NAMES = ("red", "blue", "green", "black", "white", "brown")


@cache
def texts() -> tuple[list[str], Any]:
    """Texts that name their one or two labels."""
    ids = np.arange(48) % len(NAMES)
    rows = [f"a {NAMES[i]} thing number {row}" for row, i in enumerate(ids)]
    Y = np.eye(len(NAMES), dtype=np.float32)[ids]
    for row in range(0, 48, 5):
        other = (ids[row] + 1) % len(NAMES)
        rows[row] += f" with {NAMES[other]}"
        Y[row, other] = 1
    return rows, sp.csr_array(Y)


def fit_texts(model: Any, X: Any, y: Any) -> Any:
    return model.fit(X=X, y=y, label_texts=list(NAMES))


def text_cases() -> dict[str, Case]:
    """Models over texts."""

    def prime() -> Any:
        from tests.encoder.prime_problems import epochs, prime

        return prime(training=epochs(2))

    def otseq2set() -> Any:
        from multitudes.seq2set import (
            BatchConfig,
            NetworkConfig,
            OTSeq2Set,
            Seq2SetTraining,
            WordsConfig,
        )

        return OTSeq2Set(
            words=WordsConfig(dim=16, max_length=12),
            network=NetworkConfig(hidden=16, layers=1, kernels=(2, 3), strides=(1, 2), dropout=0.0),
            batches=BatchConfig(batch_size=16),
            training=Seq2SetTraining(epochs=2, learning_rate=1e-2, warmup_steps=0, device="cpu"),
        )

    return {
        "Prime": Case(
            prime,
            texts,
            fit_texts,
            TEXTS | UPDATES | {"Explains", "KeepsInstances", "RestrictsLabels", "LearnsFromNames"},
            tolerance=1e-5,
        ),
        "OTSeq2Set": Case(otseq2set, texts, fit_texts, TEXTS | {"MakesSets"}, tolerance=1e-5),
    }


def ensemble_cases() -> dict[str, Case]:
    """Several models as one, over texts: one over words and one over parts of words."""
    from multitudes.features import TfidfFeatures
    from multitudes.fusion import Ensemble

    def ensemble() -> Any:
        chars = TfidfFeatures(word_ngrams=None, char_ngrams=(2, 3))
        return Ensemble([("words", OneVsAll()), ("characters", (chars, OneVsAll()))])

    can = UPDATES | {"ReadsTexts", "TakesLabelTexts", "Explains", "KeepsInstances", "FusesMembers"}
    return {"Ensemble": Case(ensemble, texts, fit_texts, can)}


CASES = feature_cases() | name_cases() | group_cases() | text_cases() | ensemble_cases()
