"""multitudes: extreme multi-label classification in Python.

Given a text, find the few right labels among thousands to millions. Start with `Tagger`.
Names load on first use, so that ``import multitudes`` stays fast and imports no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from multitudes.lazy import lazy_names
from multitudes.version import __version__

# What is public is listed three times: for type checkers and editors, for `import *` and the
# reference, and for the interpreter. A test compares them.
if TYPE_CHECKING:
    from multitudes.data import Dataset as Dataset
    from multitudes.data import read_dataset as read_dataset
    from multitudes.data import write_dataset as write_dataset
    from multitudes.disentangle import Disentangled as Disentangled
    from multitudes.encoder import Prime as Prime
    from multitudes.errors import ConfigError as ConfigError
    from multitudes.errors import DataError as DataError
    from multitudes.errors import MissingExtraError as MissingExtraError
    from multitudes.errors import MultitudesError as MultitudesError
    from multitudes.errors import NotFittedError as NotFittedError
    from multitudes.errors import ResourceError as ResourceError
    from multitudes.errors import StoreError as StoreError
    from multitudes.errors import TrainingError as TrainingError
    from multitudes.features import TfidfFeatures as TfidfFeatures
    from multitudes.fusion import Ensemble as Ensemble
    from multitudes.groups import Eagle as Eagle
    from multitudes.labels import LabelTree as LabelTree
    from multitudes.lexical import Lexical as Lexical
    from multitudes.linear import OneVsAll as OneVsAll
    from multitudes.linear import Parabel as Parabel
    from multitudes.linear import SolverConfig as SolverConfig
    from multitudes.linear import XRLinear as XRLinear
    from multitudes.metrics import evaluate as evaluate
    from multitudes.seq2set import OTSeq2Set as OTSeq2Set
    from multitudes.store import load as load
    from multitudes.store import save as save
    from multitudes.tagger import Tagger as Tagger
    from multitudes.tuning import Tuner as Tuner
    from multitudes.types import Predictions as Predictions

__all__ = [
    "ConfigError",
    "DataError",
    "Dataset",
    "Disentangled",
    "Eagle",
    "Ensemble",
    "LabelTree",
    "Lexical",
    "MissingExtraError",
    "MultitudesError",
    "NotFittedError",
    "OTSeq2Set",
    "OneVsAll",
    "Parabel",
    "Predictions",
    "Prime",
    "ResourceError",
    "SolverConfig",
    "StoreError",
    "Tagger",
    "TfidfFeatures",
    "TrainingError",
    "Tuner",
    "XRLinear",
    "__version__",
    "evaluate",
    "load",
    "read_dataset",
    "save",
    "write_dataset",
]

if not TYPE_CHECKING:
    _HOMES = {
        "ConfigError": "multitudes.errors",
        "DataError": "multitudes.errors",
        "Dataset": "multitudes.data",
        "Disentangled": "multitudes.disentangle",
        "Eagle": "multitudes.groups",
        "Ensemble": "multitudes.fusion",
        "LabelTree": "multitudes.labels",
        "Lexical": "multitudes.lexical",
        "MissingExtraError": "multitudes.errors",
        "MultitudesError": "multitudes.errors",
        "NotFittedError": "multitudes.errors",
        "OTSeq2Set": "multitudes.seq2set",
        "OneVsAll": "multitudes.linear",
        "Parabel": "multitudes.linear",
        "Predictions": "multitudes.types",
        "Prime": "multitudes.encoder",
        "ResourceError": "multitudes.errors",
        "SolverConfig": "multitudes.linear",
        "StoreError": "multitudes.errors",
        "Tagger": "multitudes.tagger",
        "TfidfFeatures": "multitudes.features",
        "TrainingError": "multitudes.errors",
        "Tuner": "multitudes.tuning",
        "XRLinear": "multitudes.linear",
        "evaluate": "multitudes.metrics",
        "load": "multitudes.store",
        "read_dataset": "multitudes.data",
        "save": "multitudes.store",
        "write_dataset": "multitudes.data",
    }
    __getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
