"""What a server answers, as values with types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self


@dataclass(frozen=True)
class Result:
    """Values that are made of an answer; fields of later versions of a server are passed over."""

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Self:
        """Build from the fields of an answer."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in content.items() if name in known})


@dataclass(frozen=True)
class Scored(Result):
    """A label of a text.

    Parameters
    ----------
    label : str
    score : float
        Or its probability.
    title : str, optional
        What people call it, if its name is e.g. a URI.
    """

    label: str
    score: float
    title: str | None = None


@dataclass(frozen=True)
class Word(Result):
    """Something in a text that speaks for a label, or against it.

    Parameters
    ----------
    word : str
    weight : float
    spans : tuple of (int, int)
        Where it stands in the text: ``text[start:end]``.
    """

    word: str
    weight: float
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Self:
        """Build from the fields of an answer."""
        spans = tuple((start, end) for start, end in content["spans"])
        return cls(content["word"], content["weight"], spans)


@dataclass(frozen=True)
class Explanation(Result):
    """What is behind the score of a label.

    Parameters
    ----------
    explanation : dict
        Its fields, which depend on the kind of model.
    table : str
        The same, to read.
    words : tuple of Word
        Strongest first; empty if the model reads no words.
    """

    explanation: dict[str, Any]
    table: str
    words: tuple[Word, ...]

    def __str__(self) -> str:
        return self.table

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Self:
        """Build from the fields of an answer."""
        words = tuple(map(Word.of, content["words"]))
        return cls(content["explanation"], content["table"], words)


@dataclass(frozen=True)
class KnownLabel(Result):
    """A label of a model, and what people call it; `n_texts` if that is known."""

    label: str
    title: str | None = None
    n_texts: int | None = None


@dataclass(frozen=True)
class NearLabel(Result):
    """A label near another, and the cosine of the vectors that the model has of them."""

    label: str
    similarity: float
    title: str | None = None


@dataclass(frozen=True)
class Sense(Result):
    """A label in one of its leaves; see `multitudes.disentangle.Sense`."""

    tree: int
    leaf: int
    n_texts: int
    words: tuple[tuple[str, float], ...]
    nearest: tuple[KnownLabel, ...]
    examples: tuple[str, ...]

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Self:
        """Build from the fields of an answer."""
        return cls(
            content["tree"],
            content["leaf"],
            content["n_texts"],
            tuple((word, weight) for word, weight in content["words"]),
            tuple(map(KnownLabel.of, content["nearest"])),
            tuple(content["examples"]),
        )


@dataclass(frozen=True)
class LabelDetails(Result):
    """What a model knows about a label; parts that it does not have are empty.

    Parameters
    ----------
    label : str
    title : str, optional
    alternatives : tuple of str
        Names by which it is found in texts.
    senses : tuple of Sense
    path : tuple of tuples of KnownLabel
        From the root of the tree to the label's leaf: labels of the same cluster.
    nearest : tuple of NearLabel
    examples : tuple of str
    """

    label: str
    title: str | None
    alternatives: tuple[str, ...]
    senses: tuple[Sense, ...]
    path: tuple[tuple[KnownLabel, ...], ...]
    nearest: tuple[NearLabel, ...]
    examples: tuple[str, ...]

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Self:
        """Build from the fields of an answer."""
        return cls(
            content["label"],
            content.get("title"),
            tuple(content["alternatives"]),
            tuple(map(Sense.of, content["senses"])),
            tuple(tuple(map(KnownLabel.of, level)) for level in content["path"]),
            tuple(map(NearLabel.of, content["nearest"])),
            tuple(content["examples"]),
        )


@dataclass(frozen=True)
class Model(Result):
    """A model that is served; its card only if it was asked for alone, and has one."""

    name: str
    model: str
    n_labels: int
    has_probabilities: bool
    has_sets: bool
    has_senses: bool
    version: str
    loaded_at: str
    library_version: str
    card: list[dict[str, Any]] | None = None


@dataclass(frozen=True)
class Kept(Result):
    """A correction that is on the server's disk."""

    id: int
    uid: str
    time: str


@dataclass(frozen=True)
class Correction(Result):
    """A correction as it was kept; its `labels` are those accepted and those added."""

    id: int
    uid: str
    text: str
    labels: tuple[str, ...]
    accepted: tuple[str, ...]
    rejected: tuple[str, ...]
    added: tuple[str, ...]
    model: str | None
    version: str | None
    time: str

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Self:
        """Build from the fields of an answer."""
        lists = ("labels", "accepted", "rejected", "added")
        return super().of({**content, **{name: tuple(content[name]) for name in lists}})


@dataclass(frozen=True)
class CorrectionPage(Result):
    """Some corrections in the order in which they came.

    Parameters
    ----------
    corrections : tuple of Correction
    after : int, optional
        Ask for those after this one; None if there are none.
    total : int
    """

    corrections: tuple[Correction, ...]
    after: int | None
    total: int

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Self:
        """Build from the fields of an answer."""
        found = tuple(map(Correction.of, content["corrections"]))
        return cls(found, content["after"], content["total"])
