"""Lexical: labels whose names occur in the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.config import Search, among, between
from multitudes.errors import DataError
from multitudes.estimator import Estimator
from multitudes.features.stemming import AUTO
from multitudes.features.term_counts import Shard, TermSource, on_shards
from multitudes.features.text_buffer import as_texts, not_a_text
from multitudes.kernels.text.name_matching import keep_best
from multitudes.kernels.threads import resolve_threads
from multitudes.lexical.evidence import LabelEvidence, MatchWeights, evidence_of
from multitudes.lexical.explanation import Explanation, explained
from multitudes.lexical.index import Matches, NameIndex
from multitudes.lexical.names import checked_languages, listed_names, shown_languages
from multitudes.lexical.reading import Tokens, read_tokens
from multitudes.lexical.stored import BESIDE, check_lexical, lexical_state, parts_from_state
from multitudes.lexical.training import count_stems, learn_weights
from multitudes.progress import Task
from multitudes.store import State
from multitudes.types import FloatArray, Predictions, Sparse, blank_lists
from multitudes.validation import (
    checked_count,
    checked_label,
    checked_label_ids,
    checked_labels,
    checked_number,
    checked_removal,
)

SOURCE = TermSource(True, (1, 1))


class Lexical(Estimator):
    """Finds the labels whose names occur in a text, by the stems of their words.

    A name matches a text that has at least `min_coverage` of it: its words, in any form and order,
    the rarer the weightier. How likely a match is right is a logistic regression over how much of
    the name was found, as written or in other forms, how often, how early, how close together, how
    rare its words are, and how often the label and its matches were right before. It is learned
    from texts with labels; without any, constants are used.

    Parameters
    ----------
    language : str or sequence of str
        The language of texts and names: "german"; several, each text being read in its own; or
        "auto", those that texts show (names, if there are no texts).
    min_coverage : float
        Least share of a name that a text must have, above 0; 1 for all of it.
    compounds : bool
        Find names inside words too, at the start and at the end: "Garten" in "Gartenhaus"; in
        languages that write compounds as one word.
    learn : bool
        Learn weights from labeled texts; if not, or if they name too few of their labels,
        constants are used.
    max_instances : int
        Texts that weights are learned from, at most. How often a label is right is learned from
        all.
    n_jobs : int or None
        Threads; None or -1 for all cores.

    Attributes
    ----------
    index_ : NameIndex
        Names, stems, and which name has which.
    weights_ : MatchWeights
    learned_ : bool
        Whether weights were learned; if not, they are constants.
    label_evidence_ : LabelEvidence
        How often each label was given, named, and both.
    n_labels_ : int
    n_labels_without_text_ : int
        Labels without a word in their names, which are never found. Not stored.

    Examples
    --------
    >>> from multitudes.lexical import Lexical
    >>> model = Lexical().fit(label_texts=["gardens; gardening", "castles"])
    >>> model.predict(["The garden of a castle"], top_k=2).labels.tolist()
    [[0, 1]]
    """

    reads_texts: ClassVar[bool] = True
    needs_label_texts: ClassVar[bool] = True
    learns_from_names: ClassVar[bool] = True
    restricts_labels: ClassVar[bool] = True
    fitted_attribute: ClassVar[str] = "weights_"
    search_space: ClassVar[dict[str, Search]] = {
        "min_coverage": between(0.1, 0.9),
        "learn": among(True, False),
    }

    def __init__(
        self,
        *,
        language: str | Sequence[str] = AUTO,
        min_coverage: float = 0.3,
        compounds: bool = False,
        learn: bool = True,
        max_instances: int = 10_000,
        n_jobs: int | None = None,
    ) -> None:
        self.language = language
        self.min_coverage = min_coverage
        self.compounds = compounds
        self.learn = learn
        self.max_instances = max_instances
        self.n_jobs = n_jobs

    def fit(self, X: Any = None, y: Any = None, *, label_texts: Any = None) -> Self:
        """Learn names, and from labeled texts what a match is worth.

        Parameters
        ----------
        X : sequence of str, optional
            Texts; None or none of them to know names alone.
        y : sparse matrix, array or list of lists (n_instances, n_labels), optional
            Without labels, texts only say how rare words are, and which languages there are.
        label_texts : sequence of str, or of sequences of str
            The names of each label, the preferred one first; in one str, semicolons or line ends
            are between them.
        """
        given, coverage = checked_languages(self.language), self._checked_settings()
        texts = [] if X is None else checked_texts(X)
        if label_texts is None:
            raise DataError("Lexical finds labels by their names: give label_texts, one per label")
        names, name_labels = listed_names(label_texts)
        n_labels = len(label_texts)
        if not n_labels:
            raise DataError("there are no labels: label_texts must have the names of at least one")
        Y = None
        if len(texts) and y is not None:
            Y = checked_labels(y, n_instances=len(texts), n_labels=n_labels)
        languages = given or shown_languages(texts, names)
        index = NameIndex.of(names, name_labels, n_labels, languages, coverage)
        evidence, weights = LabelEvidence.none(n_labels), None
        if len(texts):
            read = self._reader(index)
            index = index.with_counts(*count_stems(read, len(index.stems), texts, self.n_jobs))
        if Y is not None:
            evidence, weights = learn_weights(
                self._matcher(index), index, texts, Y,
                max_instances=self.max_instances if self.learn else 0, n_jobs=self.n_jobs,
            )  # fmt: skip
        self.n_labels_without_text_ = n_labels - len(np.unique(index.table.labels))
        self.learned_ = weights is not None
        self._set_learned(index, evidence, weights or MatchWeights.constant())
        return self

    def _checked_settings(self) -> float:
        resolve_threads(self.n_jobs)
        checked_count(self.max_instances, "max_instances")
        return float(checked_number(self.min_coverage, "min_coverage", above=0, at_most=1))

    def _set_learned(
        self, index: NameIndex, evidence: LabelEvidence, weights: MatchWeights
    ) -> None:
        self.index_, self.label_evidence_, self.n_labels_ = index, evidence, index.n_labels
        self.weights_ = weights

    def _reader(self, index: NameIndex) -> Callable[[Shard], Iterator[tuple[int, Tokens]]]:
        """Return a function that reads the texts of a shard: (number of texts, tokens) each."""

        def read(shard: Shard) -> Iterator[tuple[int, Tokens]]:
            for n_rows, buffer in shard.chunks(SOURCE):
                tokens = read_tokens(
                    buffer, n_rows, index.languages, index.stems, index.words,
                    compounds=self.compounds,
                )  # fmt: skip
                yield n_rows, tokens

        return read

    def _matcher(self, index: NameIndex) -> Callable[[Shard], Iterator[tuple[int, Matches]]]:
        """Return a function that matches the texts of a shard: (number of texts, matches) each."""
        read = self._reader(index)
        index.table, index.homonyms, index.preferred  # noqa: B018  made once, before threads ask
        return lambda shard: ((n_rows, index.match(tokens)) for n_rows, tokens in read(shard))

    def predict(self, X: Any, *, top_k: int = 5, labels: Any = None) -> Predictions:
        """Return the labels that each text names, the likeliest first; maybe fewer than `top_k`.

        Parameters
        ----------
        X : sequence of str
        top_k : int
        labels : sequence of int, optional
            Ids of the labels that may be predicted; defaults to all.
        """
        self.check_fitted()
        texts, n_labels = checked_texts(X), self.n_labels_
        top_k = min(checked_count(top_k, "top_k"), n_labels)
        allowed = None
        if labels is not None:
            allowed = np.zeros(n_labels, bool)
            allowed[checked_label_ids(labels, n_labels)] = True
        best, scores = blank_lists(len(texts), top_k)
        matched = self._matcher(self.index_)

        def one_shard(shard: Shard, task: Task) -> None:
            row = shard.first_index
            for n_rows, matches in matched(shard):
                odds = self._probabilities(matches)
                kept = np.ones(len(odds), bool) if allowed is None else allowed[matches.labels]
                part = slice(row, row + n_rows)
                keep_best(
                    matches.rows[kept], matches.labels[kept], odds[kept], best[part], scores[part]
                )
                row += n_rows
                task.advance(n_rows)

        on_shards(one_shard, texts, self.n_jobs)
        return Predictions(best, scores, n_labels)

    def _probabilities(self, matches: Matches) -> FloatArray:
        evidence = evidence_of(self.index_, matches, self.label_evidence_)
        return self.weights_.probabilities(evidence)

    def explain(self, text: str, label: int) -> Explanation:
        """Return which words of a text match which name of a label, and what that is worth.

        Parameters
        ----------
        text : str
        label : int
        """
        self.check_fitted()
        label = checked_label(label, self.n_labels_)
        (text,) = checked_texts([text])
        ((_, tokens),) = self._reader(self.index_)(Shard([text], 0))
        return explained(self.index_, self.weights_, self.label_evidence_, text, tokens, label)

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Count further texts: how often labels occur and their matches are right.

        The weights of matches stay as they are. A first call is not possible: names come with
        `fit`.
        """
        self.check_fitted()
        texts = checked_texts(X)
        Y = checked_labels(y, n_instances=len(texts), n_labels=self.n_labels_)
        more = self._counted(self.index_, texts, Y)
        self.label_evidence_ = self.label_evidence_.plus(more)
        return self

    def _counted(self, index: NameIndex, texts: Sequence[str], Y: Sparse) -> LabelEvidence:
        """Return what labeled texts say of each label; weights stay."""
        matcher = self._matcher(index)
        return learn_weights(matcher, index, texts, Y, max_instances=0, n_jobs=self.n_jobs)[0]

    def add_labels(self, label_texts: Any, examples: Any = None) -> Self:
        """Add labels by their names, behind those that are there; no training text is needed.

        Parameters
        ----------
        label_texts : sequence of str, or of sequences of str
            The names of each new label.
        examples : sequence of sequences of str, optional
            Texts that have each new label: they say how often its names are right.
        """
        self.check_fitted()
        names, name_labels = listed_names(label_texts)
        n_new = len(label_texts)
        if not n_new:
            raise DataError("label_texts must name at least one new label, got none")
        old, n_labels = self.index_, self.n_labels_
        labels = np.concatenate([old.name_labels, name_labels + np.int32(n_labels)])
        if examples is not None and len(examples) != n_new:
            raise DataError(
                f"add_labels got {n_new:,} label_texts and examples for {len(examples):,}: give "
                "one list of examples per label, empty for none"
            )
        index = old.changed([*old.names, *names], labels.astype(np.int32), n_labels + n_new)
        seen = self.label_evidence_
        padded = (np.pad(one, (0, n_new)) for one in seen.by_label())
        evidence = LabelEvidence.of(padded, seen.n_texts)
        texts = [text for some in examples or () for text in checked_texts(some)]
        if texts:
            Y = one_label_each([len(some) for some in examples], n_labels, n_labels + n_new)
            evidence = evidence.plus(self._counted(index, texts, Y).of_new(n_labels))
        self._set_learned(index, evidence, self.weights_)
        return self

    def remove_labels(self, labels: npt.ArrayLike) -> Self:
        """Drop labels by id; the others keep their order."""
        self.check_fitted()
        kept = np.ones(self.n_labels_, bool)
        kept[checked_removal(labels, self.n_labels_)] = False
        old, seen = self.index_, self.label_evidence_
        places = np.flatnonzero(kept[old.name_labels]).tolist()
        new_ids = (np.cumsum(kept) - 1).astype(np.int32)
        names, of_names = [old.names[i] for i in places], new_ids[old.name_labels[places]]
        evidence = LabelEvidence.of((one[kept] for one in seen.by_label()), seen.n_texts)
        index = old.changed(names, of_names, int(kept.sum()))
        self._set_learned(index, evidence, self.weights_)
        return self

    def to_state(self) -> State:
        """Names, stems, weights and counts."""
        self.check_fitted()
        return lexical_state(self)

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check that no id points beyond its list."""
        check_lexical(state, cls)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build a fitted model again."""
        model = cls(**{name: v for name, v in state.config.items() if name not in BESIDE})
        model.learned_ = state.config["learned"]
        model._set_learned(*parts_from_state(state))
        return model


def checked_texts(texts: Any) -> Sequence[str]:
    """Return texts as a sequence of str; anything else is an error that says where."""
    listed = as_texts(texts)
    if not all(isinstance(text, str) for text in listed):
        raise not_a_text(listed, 0)
    return listed


def one_label_each(counts: Sequence[int], first_label: int, n_labels: int) -> Sparse:
    """Return Y of texts with one label each: so many of the first, then of the next, ..."""
    labels = np.repeat(np.arange(first_label, first_label + len(counts)), counts)
    ones = np.ones(len(labels), np.float32)
    return sp.csr_array((ones, labels, np.arange(len(labels) + 1)), shape=(len(labels), n_labels))
