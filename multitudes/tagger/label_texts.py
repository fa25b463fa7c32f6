"""The text of each label, for models that read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from multitudes.data import Dataset
from multitudes.errors import DataError


def texts_of_labels(dataset: Dataset, *, needed: bool = True) -> tuple[str, ...] | None:
    """Each label's text; its name where it has no text; None where none has either.

    Raises
    ------
    DataError
        If labels have neither and are `needed`: a number says nothing to a model that reads.
    """
    names, texts = dataset.label_names, dataset.label_texts
    if texts is None and names is None:
        if not needed:
            return None
        raise DataError(
            f"this model reads the texts of labels, and these {dataset.n_labels:,} labels have "
            "numbers alone: give label_texts, or label_names that say what they are"
        )
    if texts is None or names is None:
        return tuple(texts or names or ())
    return tuple(text if text.strip() else name for text, name in zip(texts, names, strict=True))


def listed_texts(
    label_texts: Mapping[str, str] | Sequence[str] | None, names: Sequence[str]
) -> list[str] | None:
    """One text per name, from texts by name (a name without one is its own) or in order."""
    if label_texts is None:
        return None
    if isinstance(label_texts, Mapping):
        known = set(names)
        unknown = [name for name in label_texts if name not in known]
        if unknown:
            raise DataError(
                f"label_texts has {unknown[0]!r}, which is not among the {len(names):,} labels"
            )
        return [label_texts.get(name, name) for name in names]
    if isinstance(label_texts, str) or len(label_texts) != len(names):
        given = "one str" if isinstance(label_texts, str) else f"{len(label_texts):,}"
        raise DataError(
            f"label_texts must be one text per label ({len(names):,}), in the order of "
            f"label_names, or a mapping of names to texts, got {given}"
        )
    return list(label_texts)
