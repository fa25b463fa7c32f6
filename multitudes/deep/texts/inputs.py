"""Texts as models are given them, checked once: instances, labels, and those for validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

from multitudes.deep.texts.tokens import TokenRows
from multitudes.errors import DataError
from multitudes.features.text_buffer import as_texts, not_a_text
from multitudes.types import Sparse
from multitudes.validation import checked_labels

Texts: TypeAlias = Sequence[str] | TokenRows
T = TypeVar("T", Sequence[str], Texts)  # a model of words does not take token ids


def checked_texts(texts: T, name: str) -> T:
    """A sequence of texts, or their token ids; a single string is refused."""
    if isinstance(texts, TokenRows):
        return texts
    try:
        texts = as_texts(texts)
        if not all(isinstance(text, str) for text in texts):
            raise not_a_text(texts, 0)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    return texts


def checked_label_texts(label_texts: T, Y: Sparse) -> T:
    """One text for each column of Y."""
    label_texts = checked_texts(label_texts, "label_texts")
    if len(label_texts) != Y.shape[1]:
        raise DataError(
            f"y has {Y.shape[1]:,} labels, but there are {len(label_texts):,} label_texts: "
            "give one for each column of y"
        )
    return label_texts


def checked_validation(validation: tuple[T, Any], *, n_labels: int) -> tuple[T, Sparse]:
    """The texts and labels of instances kept aside; errors say that these are meant."""
    if not isinstance(validation, tuple | list) or len(validation) != 2:
        got = type(validation).__name__
        size = f" of {len(validation)}" if hasattr(validation, "__len__") else ""
        raise DataError(f"validation must be a pair (texts, Y), got a {got}{size}")
    texts = checked_texts(validation[0], "validation texts")
    try:
        return texts, checked_labels(validation[1], n_instances=len(texts), n_labels=n_labels)
    except DataError as error:
        raise DataError(f"validation data: {error}") from None


def all_texts(X: Texts, label_texts: Texts) -> list[str] | None:
    """Texts to learn a tokenizer from; None if there are only token ids."""
    if isinstance(X, TokenRows) or isinstance(label_texts, TokenRows):
        return None
    return [*X, *label_texts]
