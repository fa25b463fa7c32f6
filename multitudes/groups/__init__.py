"""Instance labels from the labels of groups of instances: EAGLE, and networks for groups (torch).

What needs torch loads on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from multitudes.groups.accuracy import ImputationAccuracy, imputation_accuracy
from multitudes.groups.diagnosis import Diagnosis, diagnose
from multitudes.groups.eagle import Eagle
from multitudes.groups.embeddings import group_label_embeddings
from multitudes.groups.imputation import Imputation, impute, spread
from multitudes.groups.making import clustered_groups, merge_labels, noisy_groups, random_groups
from multitudes.lazy import lazy_names

if TYPE_CHECKING:
    from multitudes.groups.miml import DeepMIML as DeepMIML
    from multitudes.groups.miml import MIMLTraining as MIMLTraining

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

if not TYPE_CHECKING:
    _MIML = dict.fromkeys(("DeepMIML", "MIMLTraining"), "multitudes.groups.miml")
    __getattr__ = lazy_names(__name__, _MIML)
