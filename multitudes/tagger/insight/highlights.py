"""The words of a text that are behind a label, and where they stand in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from multitudes.features.spans import MOST_SPANS, Spans, term_spans
from multitudes.features.text_buffer import TOKEN_PATTERN
from multitudes.tagger.fitted import FittedTagger

MOST_WORDS = 100  # the strongest; nobody reads more


@dataclass(frozen=True)
class Highlight:
    """A word of a text, or a part of one, or several that follow each other.

    Parameters
    ----------
    word : str
        As the features call it.
    weight : float
        How much it speaks for the label; below 0 against it. What it adds to the margins on the
        path to the label, averaged over the trees. Of an ensemble, its part of the share of each
        member that looks at words; of a model that finds names, 1 over the number of words.
    spans : tuple of (int, int)
        Where it stands: the first character, and the one behind the last.
    """

    word: str
    weight: float
    spans: tuple[tuple[int, int], ...]


def highlights(tagger: FittedTagger, text: str, explanation: Any) -> list[Highlight]:
    """Return the words behind an explanation of `Tagger.explain`, strongest first.

    Empty for a model that does not look at words.
    """
    weights: dict[str, float] = {}
    spans: Spans = {}
    for share, why, features in _parts(tagger, explanation):
        own = _weights(why)
        # Members of an ensemble have units of their own: the share of each is divided.
        total = 1.0 if share is None else sum(map(abs, own.values())) / share
        strongest = sorted(own, key=lambda word: -abs(own[word]))[:MOST_WORDS]
        for word in strongest:
            if total and own[word]:
                weights[word] = weights.get(word, 0.0) + own[word] / total
        is_written = hasattr(why, "evidence")
        found = _written(text, strongest) if is_written else term_spans(text, features, strongest)
        for word, some in found.items():
            spans[word] = sorted({*spans.get(word, ()), *some})
    ranked = sorted(weights, key=lambda word: (-abs(weights[word]), word))[:MOST_WORDS]
    return [Highlight(word, weights[word], tuple(spans.get(word, ()))) for word in ranked]


def _parts(tagger: FittedTagger, explanation: Any) -> Iterator[tuple[float | None, Any, Any]]:
    """Yield (share, explanation, features) of a model, or of the members of an ensemble."""
    if not hasattr(explanation, "members"):
        yield None, explanation, tagger.features_
        return
    members = {member.name: member for member in tagger.model_.members_}
    for says in explanation.members:
        if says.why is not None and says.share:
            yield says.share, says.why, members[says.member].features or tagger.features_


def _weights(why: Any) -> dict[str, float]:
    """Return the weight of each word in the explanation of one model; none for text encoders."""
    weights: dict[str, float] = {}
    if hasattr(why, "steps"):
        n_trees = len({step.tree for step in why.steps}) or 1
        for step in why.steps:
            for word, weight in step.words if step.names is not None else ():
                weights[word] = weights.get(word, 0.0) + weight / n_trees
    elif hasattr(why, "evidence"):
        weights = {word: 1 / len(why.words) for word in why.words}
    return weights


def _written(text: str, words: list[str]) -> Spans:
    """Return where words stand that are given as they are written in the text."""
    found: Spans = {word: [] for word in words}
    for token in re.finditer(TOKEN_PATTERN, text):
        spans = found.get(token.group())
        if spans is not None and len(spans) < MOST_SPANS:
            spans.append(token.span())
    return found
