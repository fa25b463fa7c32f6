"""Features without a vocabulary: a term's column is its hash."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import scipy.sparse as sp

from multitudes import memory
from multitudes.config import Config, among, setting
from multitudes.features.term_counts import Shard, TermSource, check_ngrams, count_hashed, on_shards
from multitudes.features.text_buffer import TextTransformer, as_texts
from multitudes.features.weighting import normalized, stacked, weighted
from multitudes.kernels.threads import resolve_threads
from multitudes.progress import Task
from multitudes.store import checks
from multitudes.store.state import State


@dataclass(frozen=True)
class HashingConfig(Config):
    """Which terms are hashed, and into how many columns."""

    n_features: int = setting(1 << 20, "Number of columns.", at_least=1, at_most=2**31 - 1)
    ngrams: tuple[int, int] = setting(
        (1, 1), "Shortest and longest n-gram.", search=among((1, 1), (1, 2), (1, 3))
    )
    unit: str = setting("word", "What an n-gram is made of.", choices=("word", "character"))
    lowercase: bool = setting(True, "Read capital letters as small ones.")
    strip_accents: bool = setting(False, 'Drop accents and other marks: "Zürich" is "zurich".')
    sublinear_tf: bool = setting(
        True, "Weigh a term by 1 + ln(count) instead of its count.", search=among(True, False)
    )
    n_jobs: int | None = setting(None, "Threads; None or -1 for all cores.")

    def __post_init__(self) -> None:
        super().__post_init__()
        resolve_threads(self.n_jobs)
        check_ngrams("ngrams", self.ngrams)

    def source(self) -> TermSource:
        """Return the terms to hash."""
        return TermSource(self.unit == "word", self.ngrams, self.lowercase, self.strip_accents)


DEFAULTS = HashingConfig()


class HashingFeatures(TextTransformer):
    """Texts to rows of hashed term counts of Euclidean length 1; nothing is learned.

    For streams and for texts that must leave no readable vocabulary. Two terms may share a column:
    their counts add up. There is no idf, because there is no corpus. The hash is part of the
    library's format: a text has the same columns on every machine and in every version.

    Parameters
    ----------
    n_features : int
    ngrams : (int, int)
    unit : {"word", "character"}
    lowercase, strip_accents, sublinear_tf : bool
    n_jobs : int or None
        See `HashingConfig` for each. Words are those of `TfidfFeatures`.
    """

    config_class: ClassVar[type[Config]] = HashingConfig

    def __init__(
        self,
        *,
        n_features: int = DEFAULTS.n_features,
        ngrams: tuple[int, int] = DEFAULTS.ngrams,
        unit: str = DEFAULTS.unit,
        lowercase: bool = DEFAULTS.lowercase,
        strip_accents: bool = DEFAULTS.strip_accents,
        sublinear_tf: bool = DEFAULTS.sublinear_tf,
        n_jobs: int | None = DEFAULTS.n_jobs,
    ) -> None:
        self.n_features = n_features
        self.ngrams = ngrams
        self.unit = unit
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.sublinear_tf = sublinear_tf
        self.n_jobs = n_jobs

    def fit(self, texts: Iterable[str] = (), y: object = None) -> Self:
        """Check the settings; there is nothing to learn. Returns self."""
        self._config()
        return self

    @property
    def n_features_(self) -> int:
        """Number of columns."""
        return self.n_features

    def transform(self, texts: Iterable[str]) -> sp.csr_array[Any]:
        """Return the features of texts.

        Returns
        -------
        CSR (n_instances, n_features), float32, indices sorted
        """
        config = self._config()
        source = config.source()

        def one_shard(shard: Shard, task: Task) -> Any:
            chunks = []
            for n_rows, buffer in shard.chunks(source):
                chunks.append(count_hashed(buffer, n_rows, source, config.n_features))
                task.advance(n_rows)
            return normalized(weighted(chunks, config.n_features, sublinear_tf=config.sublinear_tf))

        return stacked(on_shards(one_shard, as_texts(texts), config.n_jobs))

    def to_state(self) -> State:
        """Return the settings; there is nothing else."""
        # Threads belong to the machine, not to the features.
        config = {k: v for k, v in self._config().to_dict().items() if k != "n_jobs"}
        return State("hashing-features", config)

    @classmethod
    def check_state(cls, state: State) -> None:
        """Check the settings, and that there is memory for a number per column."""
        checks.names(state)
        config = checks.settings(HashingConfig, state.config, "features")
        memory.ask(8 * config.n_features, f"a map of {config.n_features:,} features")

    @classmethod
    def from_state(cls, state: State) -> Self:
        """Build the features again."""
        stored = {k: v for k, v in state.config.items() if k != "n_jobs"}  # of earlier versions
        return cls(**HashingConfig.from_dict(stored).to_dict())

    def _config(self) -> HashingConfig:
        return HashingConfig.from_dict(self.get_params())

    def __sklearn_is_fitted__(self) -> bool:
        return True
