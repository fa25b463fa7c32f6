"""What labels are called, all of it: URI, names in several languages, notation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

from multitudes.data.vocabularies.concepts import UNTAGGED, chosen_language
from multitudes.data.vocabularies.vocabulary import read_concepts, unique_uris
from multitudes.errors import ConfigError

UNDETERMINED = "und"
"""The code (BCP 47) of names whose language nobody has told."""


@dataclass(frozen=True)
class Subjects:
    """The subjects of one vocabulary.

    Parameters
    ----------
    name : str
    language : str
        The language of names if a request does not ask for another.
    titles : dict of language to dict of URI to str
        Preferred names. Empty without a vocabulary: then models' own titles are the names.
    notations : dict of URI to str
    uris : dict of str to URI
        Of preferred names and notations that only one subject has: labels of some models.
    known : frozenset of str
        The URIs of all subjects.
    """

    name: str
    language: str
    titles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    notations: Mapping[str, str] = field(default_factory=dict)
    uris: Mapping[str, str] = field(default_factory=dict)
    known: frozenset[str] = frozenset()

    @classmethod
    def read(cls, path: Path, language: str | None = None) -> Self:
        """Read a vocabulary: SKOS, or a table.

        Parameters
        ----------
        path : Path
        language : str, optional
            The usual language of names, which is also that of names without a language; defaults to
            the commonest.
        """
        concepts = read_concepts(path)
        tagged = any(tag != UNTAGGED for concept in concepts.values() for tag in concept.titles)
        chosen = chosen_language(concepts.values(), language if tagged else None, path)
        usual = chosen or (language or UNDETERMINED).lower()
        titles: dict[str, dict[str, str]] = {}
        for uri, concept in concepts.items():
            for tag, title in concept.titles.items():
                titles.setdefault(tag or usual, {}).setdefault(uri, title)
        notations = {uri: one.notations[0] for uri, one in concepts.items() if any(one.notations)}
        name = path.name.partition(".")[0] or path.name
        return cls(name, usual, titles, notations, unique_uris(concepts), frozenset(concepts))

    @cached_property
    def languages(self) -> list[str]:
        """All languages that there are names in."""
        return sorted(self.titles) or [self.language]

    def uri_of(self, label: str) -> str:
        """Return the URI of a model's label: itself, unless it is a name or a notation."""
        return label if label in self.known else self.uris.get(label, label)

    def names_of(self, uri: str) -> Iterator[str]:
        """Yield all that a model may call a subject: its URI, its notation, its names."""
        yield uri
        if uri in self.notations:
            yield self.notations[uri]
        yield from (titles[uri] for titles in self.titles.values() if uri in titles)

    def nearest(self, language: str) -> list[Mapping[str, str]]:
        """Return names by URI, those in a language first, then those in the nearest to it."""
        base = language.partition("-")[0]
        related = [tag for tag in self.languages if tag.partition("-")[0] == base]
        order = (language, *related, self.language, "en", *self.languages)
        return [self.titles[tag] for tag in dict.fromkeys(order) if tag in self.titles]


@dataclass(frozen=True)
class Vocabularies:
    """The vocabularies of several models.

    Parameters
    ----------
    of_models : dict of model name to Subjects
    of_others : Subjects, optional
        Of all other models.
    language : str, optional
        The language of models without a vocabulary: of their titles.
    """

    of_models: Mapping[str, Subjects] = field(default_factory=dict)
    of_others: Subjects | None = None
    language: str | None = None

    @classmethod
    def read(cls, given: Iterable[str], models: Iterable[str], language: str | None = None) -> Self:
        """Read vocabularies, each given as FILE, or as NAME=FILE for one of the models."""
        named: dict[str, Subjects] = {}
        others: Subjects | None = None
        known = set(models)
        for one in given:
            name, _, rest = one.partition("=")
            if rest and name in known:
                named[name] = Subjects.read(Path(rest), language)
            elif others is not None:
                raise ConfigError(
                    f"two vocabularies are given for all models, {others.name} and {one}: give one "
                    f"as NAME=FILE, with the name of a model ({', '.join(sorted(known))})"
                )
            else:
                others = Subjects.read(Path(one), language)
        return cls(named, others, language)

    def of(self, model: str) -> Subjects:
        """Return the subjects of a model."""
        found = self.of_models.get(model, self.of_others)
        return found or Subjects(model, (self.language or UNDETERMINED).lower())
