"""TF-IDF over word and character n-grams: the library's default features."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from multitudes.config import Config, among, setting
from multitudes.errors import ConfigError, DataError, NotFittedError
from multitudes.features.languages import DETECTED
from multitudes.features.stemming import AUTO, FALLBACK, STEMS, most_common_language
from multitudes.features.term_counts import (
    Shard,
    TermSource,
    check_ngrams,
    count_known,
    count_new,
    on_shards,
)
from multitudes.features.text_buffer import TextTransformer, as_texts
from multitudes.features.vocabulary import Vocabulary
from multitudes.features.weighting import normalized, side_by_side, stacked, weighted
from multitudes.kernels.text import term_weights as kernels
from multitudes.kernels.threads import resolve_threads
from multitudes.progress import Task
from multitudes.store import checks
from multitudes.store.state import State
from multitudes.types import FloatArray


@dataclass(frozen=True)
class TfidfConfig(Config):
    """Which terms become features, and how they are weighted."""

    word_ngrams: tuple[int, int] | None = setting(
        (1, 1),
        "Shortest and longest word n-gram, in words; None for no words.",
        search=among((1, 1), (1, 2), (1, 3)),
    )
    char_ngrams: tuple[int, int] | None = setting(
        None,
        "Shortest and longest character n-gram inside words; None for none.",
        search=among(None, (3, 3), (4, 4), (3, 5)),
    )
    min_df: int | float = setting(
        1, "Leave out terms in fewer texts than this (an int), or than this part (a float).",
        at_least=0, search=among(1, 2, 3, 5),
    )  # fmt: skip
    max_df: int | float = setting(
        1.0, "Leave out terms in more texts than this (an int), or than this part (a float).",
        at_least=0, search=among(0.2, 0.5, 1.0),
    )  # fmt: skip
    max_features: int | None = setting(
        None, "Keep only this many of the most frequent terms, of words and of characters each.",
        at_least=1,
    )  # fmt: skip
    lowercase: bool = setting(True, "Read capital letters as small ones.")
    strip_accents: bool = setting(False, 'Drop accents and other marks: "Zürich" is "zurich".')
    stem: str | None = setting(
        None, 'Bring words to their stems: a language, e.g. "german", or "auto" to recognize that '
        "of each text.", choices=STEMS, search=among(None, "auto"),
    )  # fmt: skip
    sublinear_tf: bool = setting(
        True, "Weigh a term by 1 + ln(count) instead of its count.", search=among(True, False)
    )
    n_jobs: int | None = setting(None, "Threads; None or -1 for all cores.")

    def __post_init__(self) -> None:
        super().__post_init__()
        resolve_threads(self.n_jobs)
        check_ngrams("word_ngrams", self.word_ngrams)
        check_ngrams("char_ngrams", self.char_ngrams)
        if self.word_ngrams is None and self.char_ngrams is None:
            raise ConfigError(
                "word_ngrams and char_ngrams are both None: set one, e.g. word_ngrams=(1, 1)"
            )
        if self.stem is not None and not self.lowercase:
            raise ConfigError(
                f"stem={self.stem!r} reads words in small letters: set lowercase=True, or stem=None"
            )
        for name, value in (("min_df", self.min_df), ("max_df", self.max_df)):
            if isinstance(value, float) and value > 1:
                raise ConfigError(
                    f"{name} as a float is a part of the texts and must be <= 1.0, got {value}: "
                    f"for a number of texts pass an int"
                )

    def sources(self, language: str = FALLBACK) -> list[TermSource]:
        """Return the kinds of terms, words first; `language` is that of texts that show none."""
        prepared = (self.lowercase, self.strip_accents)
        found = []
        if self.word_ngrams is not None:
            found.append(TermSource(True, self.word_ngrams, *prepared, self.stem, language))
        if self.char_ngrams is not None:  # parts of words see word forms as they are
            found.append(TermSource(False, self.char_ngrams, *prepared))
        return found


DEFAULTS = TfidfConfig()


class TfidfFeatures(TextTransformer):
    """Texts to TF-IDF rows of Euclidean length 1.

    A word is what `multitudes.features.TOKEN_PATTERN` matches: a run of letters, digits or
    underscores of any script, one-letter words included, with a ``++`` or ``#`` behind it (C++,
    C#). The weight of a term is tf · idf with tf = count or 1 + ln(count), and
    idf = ln((1 + n) / (1 + df)) + 1; the values are those of scikit-learn's TfidfVectorizer.
    Columns are the word n-grams in sorted order, then the character n-grams in sorted order.
    The result does not depend on `n_jobs`.

    Parameters
    ----------
    word_ngrams, char_ngrams : (int, int) or None
    min_df, max_df : int or float
    max_features : int or None
        Of equally frequent terms, the first in sorted order are kept.
    lowercase, strip_accents : bool
    stem : str or None
        Character n-grams are those of the words themselves.
    sublinear_tf : bool
    n_jobs : int or None
        See `TfidfConfig` for each.

    Attributes
    ----------
    config_ : TfidfConfig
        The settings at the time of fit.
    language_ : str
        With ``stem="auto"``, the language of most training texts; texts without a function word
        are taken to be in it.
    vocabularies_ : list of Vocabulary
        One for each kind of term in use, words first.
    idf_ : float32 array (n_features,)
    n_features_ : int
    """

    config_class: ClassVar[type[Config]] = TfidfConfig

    def __init__(
        self,
        *,
        word_ngrams: tuple[int, int] | None = DEFAULTS.word_ngrams,
        char_ngrams: tuple[int, int] | None = DEFAULTS.char_ngrams,
        min_df: int | float = DEFAULTS.min_df,
        max_df: int | float = DEFAULTS.max_df,
        max_features: int | None = DEFAULTS.max_features,
        lowercase: bool = DEFAULTS.lowercase,
        strip_accents: bool = DEFAULTS.strip_accents,
        stem: str | None = DEFAULTS.stem,
        sublinear_tf: bool = DEFAULTS.sublinear_tf,
        n_jobs: int | None = DEFAULTS.n_jobs,
    ) -> None:
        self.word_ngrams = word_ngrams
        self.char_ngrams = char_ngrams
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.stem = stem
        self.sublinear_tf = sublinear_tf
        self.n_jobs = n_jobs

    def fit(self, texts: Iterable[str], y: object = None) -> Self:
        """Learn the vocabulary and its weights; returns self."""
        self.fit_transform(texts)
        return self

    def fit_transform(self, texts: Iterable[str], y: object = None) -> sp.csr_array[Any]:
        """Learn from the texts and return their features, reading them once.

        Returns
        -------
        CSR (n_instances, n_features), float32, indices sorted
        """
        config = TfidfConfig.from_dict(self.get_params())
        texts = as_texts(texts)
        language = most_common_language(texts) if config.stem == AUTO else FALLBACK
        learned = [learn_terms(texts, source, config) for source in config.sources(language)]
        blocks, vocabularies, idfs = map(list, zip(*learned, strict=True))
        if not sum(map(len, vocabularies)):
            raise DataError(self._no_terms(texts, config))
        self._set_learned(config, language, vocabularies, np.concatenate(idfs))
        return normalized(side_by_side(blocks))

    def transform(self, texts: Iterable[str]) -> sp.csr_array[Any]:
        """Return the features of texts; a text without any known term gives an empty row.

        Returns
        -------
        CSR (n_instances, n_features), float32, indices sorted
        """
        self._check_fitted()
        config, sources = self.config_, self.config_.sources(self.language_)
        starts = np.cumsum([0, *map(len, self.vocabularies_)])
        idfs = [self.idf_[i:j] for i, j in pairwise(starts)]

        def block(shard: Shard, task: Task, kind: int) -> Any:
            source, vocabulary = sources[kind], self.vocabularies_[kind]
            chunks = []
            for n_rows, buffer in shard.chunks(source):
                chunks.append(count_known(buffer, n_rows, source, vocabulary))
                task.advance(n_rows / len(sources))
            return weighted(
                chunks, len(vocabulary), sublinear_tf=config.sublinear_tf, idf=idfs[kind]
            )

        def one_shard(shard: Shard, task: Task) -> Any:
            kinds = range(len(sources))
            return normalized(side_by_side([block(shard, task, kind) for kind in kinds]))

        texts = as_texts(texts)
        return stacked(on_shards(one_shard, texts, self.n_jobs))

    @property
    def feature_names(self) -> Sequence[str]:
        """The term of each column; character n-grams are marked as ``char:...``."""
        self._check_fitted()
        return [
            name if vocabulary.joined_words else f"char:{name}"
            for vocabulary in self.vocabularies_
            for name in vocabulary.names
        ]

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """`feature_names` as scikit-learn asks for them."""
        return np.array(self.feature_names, dtype=object)

    def to_state(self) -> State:
        """Settings, idf, and the terms as readable strings."""
        self._check_fitted()
        names = {("words" if v.joined_words else "characters"): v.names for v in self.vocabularies_}
        # Threads belong to the machine, not to the features.
        config = {k: v for k, v in self.config_.to_dict().items() if k != "n_jobs"}
        if self.config_.stem == AUTO:
            config["language"] = self.language_
        return State("tfidf", config, {"idf": self.idf_}, names)

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check the settings, and that each term has its weight; terms are checked when read."""
        config = cls._stored_config(state)
        kinds = ["words" if source.words else "characters" for source in config.sources()]
        known = {field.name for field in dataclasses.fields(TfidfConfig)}
        if config.stem == AUTO:
            known.add("language")
            checks.choice(state, "language", DETECTED)
        optional = ("n_jobs", "stem")
        checks.names(state, config=known, arrays=("idf",), strings=kinds, optional=optional)
        n_terms = sum(len(state.strings[kind]) for kind in kinds)
        # ln((1 + n) / (1 + df)) + 1, of however many texts
        checks.between(checks.array(state, "idf", "float32", (n_terms,)), "idf", 0, 100)

    @staticmethod
    def _stored_config(state: State) -> TfidfConfig:
        settings = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in state.config.items()
            if key not in ("n_jobs", "language")  # the first, stored by earlier versions
        }
        return checks.settings(TfidfConfig, settings, "features")

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build the fitted features again."""
        config = cls._stored_config(state)
        features = cls(**config.to_dict())
        vocabularies = [
            Vocabulary.from_names(
                state.strings["words" if source.words else "characters"], joined_words=source.words
            )
            for source in config.sources()
        ]
        idf = np.array(state.arrays["idf"], np.float32)
        features._set_learned(config, state.config.get("language", FALLBACK), vocabularies, idf)
        return features

    def _set_learned(
        self, config: TfidfConfig, language: str, vocabularies: list[Vocabulary], idf: FloatArray
    ) -> None:
        n_features = sum(map(len, vocabularies))
        if len(idf) != n_features:
            raise DataError(f"idf must have one value per term ({n_features}), got {len(idf)}")
        # Later changes of the parameters must not change how texts are read.
        self.config_, self.language_, self.vocabularies_ = config, language, vocabularies
        self.idf_, self.n_features_ = idf, n_features

    def _check_fitted(self) -> None:
        if not hasattr(self, "idf_"):
            raise NotFittedError("this TfidfFeatures has no vocabulary yet: call fit first")

    @staticmethod
    def _no_terms(texts: Sequence[str], config: TfidfConfig) -> str:
        return (
            f"no terms left from {len(texts):,} texts with min_df={config.min_df}, "
            f"max_df={config.max_df}, word_ngrams={config.word_ngrams}, "
            f"char_ngrams={config.char_ngrams}: lower min_df, raise max_df, or check that the "
            "texts hold words"
        )


def learn_terms(
    texts: Sequence[str], source: TermSource, config: TfidfConfig
) -> tuple[sp.csr_array[Any], Vocabulary, FloatArray]:
    """One kind of terms: their rows, not yet normalized, the vocabulary and its idf."""
    table, chunks = count_new(texts, source, n_jobs=config.n_jobs)
    n_terms = int(table.size[0])
    document_counts, totals = np.zeros(n_terms, np.int64), np.zeros(n_terms, np.int64)
    for chunk in chunks:
        kernels.term_totals(chunk.ids, chunk.counts, document_counts, totals)
    kept = frequent_enough(document_counts, len(texts), config)
    vocabulary, columns = Vocabulary.from_table(table, kept, joined_words=source.words)
    if config.max_features is not None and config.max_features < len(vocabulary):
        kept = most_frequent(columns, totals, config.max_features)
        vocabulary, columns = Vocabulary.from_table(table, kept, joined_words=source.words)
    del table  # as large as all terms; what follows needs the kept ones alone
    kept_counts = np.empty(len(vocabulary), np.int64)
    kept_counts[columns[columns >= 0]] = document_counts[columns >= 0]
    idf = (np.log((1 + len(texts)) / (1 + kept_counts)) + 1).astype(np.float32)
    X = weighted(
        chunks, len(vocabulary), sublinear_tf=config.sublinear_tf, idf=idf, columns=columns,
        n_jobs=config.n_jobs,
    )  # fmt: skip
    return X, vocabulary, idf


def frequent_enough(
    document_counts: npt.NDArray[np.int64], n_texts: int, config: TfidfConfig
) -> npt.NDArray[np.int64]:
    """Ids of the terms that min_df and max_df let through."""
    low = config.min_df * (n_texts if isinstance(config.min_df, float) else 1)
    high = config.max_df * (n_texts if isinstance(config.max_df, float) else 1)
    return np.flatnonzero((document_counts >= low) & (document_counts <= high))


def most_frequent(
    columns: npt.NDArray[np.int32], totals: npt.NDArray[np.int64], n: int
) -> npt.NDArray[np.int64]:
    """Ids of the `n` terms that occur most often; ties go to the first in sorted order."""
    kept = np.flatnonzero(columns >= 0)
    order = np.lexsort((columns[kept], -totals[kept]))
    return np.sort(kept[order[:n]])
