"""Concepts of a vocabulary, as files have them: names in several languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from multitudes.errors import DataError, suggestion

UNTAGGED = ""
_FALLBACKS = (UNTAGGED, "en")


@dataclass
class Concept:
    """A concept: its preferred name and its alternative names in each language.

    Languages are in lower case; names without a language are under ``""``.
    """

    titles: dict[str, str] = field(default_factory=dict)
    alternatives: dict[str, list[str]] = field(default_factory=dict)
    notations: list[str] = field(default_factory=list)

    def named_in(self, language: str) -> str:
        """Return the language whose names are taken: the nearest to the given one."""
        if language in self.titles:
            return language
        base = language.partition("-")[0]
        related = sorted(tag for tag in self.titles if tag.partition("-")[0] == base != UNTAGGED)
        others = (*related, *_FALLBACKS, *sorted(self.titles))
        return next(tag for tag in others if tag in self.titles)


def chosen_language(concepts: Iterable[Concept], asked: str | None, path: object) -> str:
    """Return the language to take names in: the one asked for, else the commonest."""
    counts = Counter(tag for concept in concepts for tag in concept.titles)
    if asked is None:
        best = max(counts.values(), default=0)
        common = sorted(tag for tag, count in counts.items() if count == best)
        return next((tag for tag in _FALLBACKS if tag in common), common[0] if common else UNTAGGED)
    wanted = asked.lower()
    if wanted in counts or any(tag.partition("-")[0] == wanted.partition("-")[0] for tag in counts):
        return wanted
    known = sorted(tag for tag in counts if tag)
    has = suggestion(wanted, known) if known else "its names have no language: leave language out"
    raise DataError(f"{path} has no names in the language {asked!r}: {has}")
