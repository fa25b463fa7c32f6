"""PecosTfidf: the TF-IDF of PECOS' text2text, with the vocabulary it was saved with.

Its words are what lies between spaces, in the letters they are written in, unlike those of
`TfidfFeatures`; so an imported model needs features of its own to see what it was trained on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from multitudes.errors import DataError, StoreError
from multitudes.features.text_buffer import TextTransformer, as_texts
from multitudes.features.weighting import side_by_side
from multitudes.store import State, checks
from multitudes.types import FloatArray

L1, L2 = "l1", "l2"


@dataclass(frozen=True)
class TermOptions:
    """How terms are read from a text, and weighed.

    Parameters
    ----------
    characters : bool
        n-grams of characters, across words; else of words.
    shortest, longest : int
        Lengths of n-grams.
    max_length : int
        Words, or characters, read of a text; 0 or less for all.
    binary, sublinear_tf, use_idf : bool
    norm : str
        "l1" or "l2".
    """

    characters: bool
    shortest: int
    longest: int
    max_length: int
    binary: bool
    sublinear_tf: bool
    use_idf: bool
    norm: str

    @classmethod
    def check(cls, stored: State) -> None:
        """Raise a StoreError unless the settings of a state are such options."""
        checks.names(stored, config=[field.name for field in fields(cls)])
        for name in ("characters", "binary", "sublinear_tf", "use_idf"):
            checks.flag(stored, name)
        shortest = checks.count(stored, "shortest", at_least=1)
        checks.count(stored, "longest", at_least=shortest)
        checks.count(stored, "max_length", at_least=-checks.LARGEST_ID)
        checks.choice(stored, "norm", (L1, L2))

    def terms(self, text: str) -> Iterator[str]:
        """Yield all n-grams of a text; those of words are joined by spaces."""
        tokens: Sequence[str] = text if self.characters else [w for w in text.split(" ") if w]
        if self.max_length > 0:
            tokens = tokens[: self.max_length]
        for n in range(self.shortest, min(self.longest, len(tokens)) + 1):
            for start in range(len(tokens) - n + 1):
                gram = tokens[start : start + n]
                yield gram if isinstance(gram, str) else " ".join(gram)


@dataclass(frozen=True, eq=False)
class TermVocabulary:
    """Terms, the column of each being its number, with their inverse document frequencies.

    Parameters
    ----------
    options : TermOptions
    terms : tuple of str
    idf : float32 array (n_terms,)
    """

    options: TermOptions
    terms: tuple[str, ...]
    idf: FloatArray

    @cached_property
    def columns(self) -> dict[str, int]:
        """The column of each term."""
        return {term: column for column, term in enumerate(self.terms)}

    def transform(self, texts: Sequence[str]) -> sp.csr_array[Any]:
        """Return the rows of texts, float32, indices sorted."""
        options, columns = self.options, self.columns
        indptr, indices, counts = [0], [], []
        for number, text in enumerate(texts):
            if not isinstance(text, str):
                raise DataError(f"text {number} must be a str, got {type(text).__name__}")
            found = Counter(columns[term] for term in options.terms(text) if term in columns)
            row = sorted(found)
            indices += row
            counts += [found[column] for column in row]
            indptr.append(len(indices))
        data = np.array(counts, np.float32)
        if options.binary:
            data[:] = 1
        if options.sublinear_tf:
            data = np.log(data) + 1
        index = np.array(indices, np.int32)
        if options.use_idf:
            data *= self.idf[index]
        shape = (len(texts), len(self.terms))
        return scaled(sp.csr_array((data, index, np.array(indptr)), shape=shape), options.norm)


def scaled(X: sp.csr_array[Any], norm: str) -> sp.csr_array[Any]:
    """Return X with rows of length 1 by a norm; a row of length 0 stays."""
    squared = X.power(2) if norm == L2 else abs(X)
    lengths = np.asarray(squared.sum(axis=1)).ravel()
    lengths[lengths < np.finfo(np.float32).eps] = 1
    if norm == L2:
        lengths = np.sqrt(lengths)
    data = X.data / np.repeat(lengths.astype(np.float32), np.diff(X.indptr))
    return sp.csr_array((data.astype(np.float32), X.indices, X.indptr), shape=X.shape)


class PecosTfidf(TextTransformer):
    """Texts to the TF-IDF rows that PECOS makes of them.

    Made by `import_model`; it knows its terms from the start, and `fit` learns no others.

    Parameters
    ----------
    vocabularies : sequence of TermVocabulary
        Their columns are put side by side.
    norm : str
        "l1" or "l2", of whole rows.

    Attributes
    ----------
    n_features_ : int
    """

    def __init__(self, vocabularies: Sequence[TermVocabulary], *, norm: str = L2) -> None:
        self.vocabularies = vocabularies
        self.norm = norm

    def fit(self, texts: Iterable[str], y: object = None) -> Self:
        """Return self: the terms are those that were imported."""
        return self

    def transform(self, texts: Iterable[str]) -> sp.csr_array[Any]:
        """Return the features of texts; a text without any known term gives an empty row.

        Returns
        -------
        CSR (n_instances, n_features), float32, indices sorted
        """
        given = as_texts(texts)
        blocks = [vocabulary.transform(given) for vocabulary in self.vocabularies]
        if len(blocks) == 1 and self.vocabularies[0].options.norm == self.norm:
            return blocks[0]
        return scaled(side_by_side(blocks), self.norm)

    @property
    def n_features_(self) -> int:
        """Columns of the result."""
        return sum(len(vocabulary.terms) for vocabulary in self.vocabularies)

    @property
    def feature_names(self) -> Sequence[str]:
        """The term of each column; character n-grams are marked as ``char:...``."""
        return [
            f"char:{term}" if vocabulary.options.characters else term
            for vocabulary in self.vocabularies
            for term in vocabulary.terms
        ]

    def to_state(self) -> State:
        """Return options, idf, and the terms as readable strings."""
        options = [asdict(vocabulary.options) for vocabulary in self.vocabularies]
        arrays = {f"idf_{i}": vocabulary.idf for i, vocabulary in enumerate(self.vocabularies)}
        strings = {f"terms_{i}": v.terms for i, v in enumerate(self.vocabularies)}
        return State("pecos-tfidf", {"norm": self.norm, "options": options}, arrays, strings)

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check the options, and that each term has its weight."""
        stored = state.config.get("options")
        if not isinstance(stored, list) or not stored:
            raise StoreError("its options must be a list, one for each vocabulary")
        numbers = range(len(stored))
        checks.names(
            state,
            config=("norm", "options"),
            arrays=[f"idf_{i}" for i in numbers],
            strings=[f"terms_{i}" for i in numbers],
        )
        checks.choice(state, "norm", (L1, L2))
        for i, options in enumerate(stored):
            TermOptions.check(State("options", options))
            terms = state.strings[f"terms_{i}"]
            checks.distinct(terms, f"terms_{i}")
            idf = checks.array(state, f"idf_{i}", "float32", (len(terms),))
            checks.finite(idf, f"idf_{i}")

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build the features again."""
        vocabularies = [
            TermVocabulary(
                TermOptions(**options),
                tuple(state.strings[f"terms_{i}"]),
                np.asarray(state.arrays[f"idf_{i}"]),
            )
            for i, options in enumerate(state.config["options"])
        ]
        return cls(vocabularies, norm=state.config["norm"])
