"""Instance labels from the labels of groups of instances (EAGLE)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from multitudes.groups.accuracy import ImputationAccuracy, imputation_accuracy
from multitudes.groups.diagnosis import Diagnosis, diagnose
from multitudes.groups.eagle import Eagle
from multitudes.groups.embeddings import group_label_embeddings
from multitudes.groups.imputation import Imputation, impute, spread
from multitudes.groups.making import clustered_groups, merge_labels, noisy_groups, random_groups

if TYPE_CHECKING:
    from multitudes.groups.miml import DeepMIML, MIMLTraining

__all__ = [
    "DeepMIML",
    "Diagnosis",
    "Eagle",
    "Imputation",
    "ImputationAccuracy",
    "MIMLTraining",
    "clustered_groups",
    "diagnose",
    "group_label_embeddings",
    "imputation_accuracy",
    "impute",
    "merge_labels",
    "noisy_groups",
    "random_groups",
    "spread",
]


def __getattr__(name: str) -> Any:
    if name in ("DeepMIML", "MIMLTraining"):  # they need torch
        return getattr(importlib.import_module("multitudes.groups.miml"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
