"""Candidates: the members that a plan may have, in the order in which they are worth their time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from multitudes.models import built_in_models
from multitudes.tagger.costs.facts import Facts

OVERLAP = {"overlap": 2}
SMALLEST_TREE = 200  # labels; below, a tree has a leaf or two


@dataclass(frozen=True)
class Candidate:
    """A member that could be trained.

    Parameters
    ----------
    name : str
        What people call it: "words", "subwords".
    model : str
        A model's name.
    features : str, optional
        Features by name; None for a model that reads texts.
    settings : mapping
    what : str
        A few words for the plan.
    fits : function of Facts
        Whether it makes sense for some data.
    """

    name: str
    model: str
    features: str | None
    what: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    fits: Callable[[Facts], bool] = lambda facts: True


def _has_tree(facts: Facts) -> bool:
    return facts.n_labels >= SMALLEST_TREE


def _has_texts(facts: Facts) -> bool:
    return facts.takes_texts


def _reads_labels(facts: Facts) -> bool:
    return facts.takes_texts and facts.names_labels


def _encodes(facts: Facts) -> bool:
    return _reads_labels(facts) and "deep" in facts.extras


# The first that fits into the time is ready first. The order of the others is a guess from small
# samples: subwords, one-vs-all where it can be paid, bigrams, and last other trees over words.
FIRST = (
    Candidate("words", "xr-linear", "tfidf", "a tree, labels in two leaves", OVERLAP, _has_tree),
    Candidate("words", "one-vs-all", "tfidf", "every label scored"),
    Candidate("words", "xr-linear", "tfidf", "a tree"),
)
OTHERS = (
    Candidate("names", "lexical", None, "names of labels in the text", fits=_reads_labels),
    Candidate("encoder", "prime", None, "a text encoder", fits=_encodes),
    Candidate(
        "subwords",
        "xr-linear",
        "subwords",
        "a tree over words and parts of words",
        OVERLAP,
        lambda facts: _has_texts(facts) and _has_tree(facts),
    ),
    Candidate(
        "subwords, every label",
        "one-vs-all",
        "subwords",
        "every label scored, words and parts of words",
        fits=lambda facts: _has_texts(facts) and not _has_tree(facts),
    ),
    Candidate("every label", "one-vs-all", "tfidf", "every label scored", fits=_has_tree),
    Candidate(
        "bigrams",
        "xr-linear",
        "words-bigrams",
        "a tree over pairs of words",
        OVERLAP,
        lambda facts: _has_texts(facts) and _has_tree(facts),
    ),
    Candidate("binary trees", "parabel", "tfidf", "three binary trees", fits=_has_tree),
)


def candidates(facts: Facts) -> tuple[list[Candidate], list[Candidate]]:
    """Return what may come first, best first, and what may join it, the most valuable first."""
    known = built_in_models()
    return (
        [one for one in FIRST if one.fits(facts)],
        [one for one in OTHERS if one.model in known and one.fits(facts)],
    )
