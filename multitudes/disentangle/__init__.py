"""Label disentanglement: an ambiguous label may live in several leaves."""

from multitudes.disentangle.ambiguity import Ambiguity, ambiguous
from multitudes.disentangle.disentangled import Disentangled
from multitudes.disentangle.entangling import Entangled, entangle
from multitudes.disentangle.leaf_assignment import (
    assign,
    default_cluster_cap,
    linear_bound,
    match_counts,
    tp_bound,
)
from multitudes.disentangle.random_copies import random_assignment
from multitudes.disentangle.senses import Sense

__all__ = [
    "Ambiguity",
    "Disentangled",
    "Entangled",
    "Sense",
    "ambiguous",
    "assign",
    "default_cluster_cap",
    "entangle",
    "linear_bound",
    "match_counts",
    "random_assignment",
    "tp_bound",
]
