"""Stage 3, X and Y to the label space: label embeddings, balanced k-means, the label tree."""

from multitudes.labels.embeddings import concatenate, from_texts, pifa, pii
from multitudes.labels.tree import LabelTree
from multitudes.labels.tree_building import build_tree

__all__ = ["LabelTree", "build_tree", "concatenate", "from_texts", "pifa", "pii"]
