"""Instance labels from the labels of groups of instances (EAGLE)."""

from multitudes.groups.eagle import Eagle
from multitudes.groups.embeddings import group_label_embeddings
from multitudes.groups.imputation import Imputation, impute, spread
from multitudes.groups.making import clustered_groups, merge_labels, noisy_groups, random_groups

__all__ = [
    "Eagle",
    "Imputation",
    "clustered_groups",
    "group_label_embeddings",
    "impute",
    "merge_labels",
    "noisy_groups",
    "random_groups",
    "spread",
]
