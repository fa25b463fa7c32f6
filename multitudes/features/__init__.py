"""Stage 2, texts to X: TF-IDF, hashing, dense embeddings, and their concatenation."""

from multitudes.features.concat import ConcatFeatures
from multitudes.features.dense import DenseFeatures
from multitudes.features.hashing import HashingConfig, HashingFeatures
from multitudes.features.pass_through import PassThrough
from multitudes.features.text_buffer import TOKEN_PATTERN
from multitudes.features.tfidf import TfidfConfig, TfidfFeatures

__all__ = [
    "TOKEN_PATTERN",
    "ConcatFeatures",
    "DenseFeatures",
    "HashingConfig",
    "HashingFeatures",
    "PassThrough",
    "TfidfConfig",
    "TfidfFeatures",
]
