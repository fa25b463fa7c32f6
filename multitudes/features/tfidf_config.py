"""The settings of `TfidfFeatures`."""

from __future__ import annotations

from dataclasses import dataclass

from multitudes.config import Config, setting
from multitudes.errors import ConfigError
from multitudes.features.term_counts import TermSource


def check_ngrams(name: str, ngrams: tuple[int, int] | None) -> None:
    """Refuse anything but None or (shortest, longest) with 1 <= shortest <= longest."""
    if ngrams is None:
        return
    whole = all(isinstance(n, int) and not isinstance(n, bool) for n in ngrams)
    if len(ngrams) != 2 or not whole or not 1 <= ngrams[0] <= ngrams[1]:
        raise ConfigError(
            f"{name} must be (shortest, longest) with 1 <= shortest <= longest, got {ngrams!r}: "
            "e.g. (1, 2) for single words and pairs"
        )


@dataclass(frozen=True)
class TfidfConfig(Config):
    """Which terms become features, and how they are weighted."""

    word_ngrams: tuple[int, int] | None = setting(
        (1, 1), "Shortest and longest word n-gram, in words; None for no words."
    )
    char_ngrams: tuple[int, int] | None = setting(
        None, "Shortest and longest character n-gram inside words; None for none."
    )
    min_df: int | float = setting(
        1, "Leave out terms in fewer texts than this (an int), or than this part (a float).",
        at_least=0,
    )  # fmt: skip
    max_df: int | float = setting(
        1.0, "Leave out terms in more texts than this (an int), or than this part (a float).",
        at_least=0,
    )  # fmt: skip
    max_features: int | None = setting(
        None, "Keep only this many of the most frequent terms, of words and of characters each.",
        at_least=1,
    )  # fmt: skip
    lowercase: bool = setting(True, "Read capital letters as small ones.")
    strip_accents: bool = setting(False, 'Drop accents and other marks: "Zürich" is "zurich".')
    sublinear_tf: bool = setting(True, "Weigh a term by 1 + ln(count) instead of its count.")
    n_jobs: int | None = setting(None, "Threads; None for all cores.", at_least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ngrams("word_ngrams", self.word_ngrams)
        check_ngrams("char_ngrams", self.char_ngrams)
        if self.word_ngrams is None and self.char_ngrams is None:
            raise ConfigError(
                "word_ngrams and char_ngrams are both None: set one, e.g. word_ngrams=(1, 1)"
            )
        for name, value in (("min_df", self.min_df), ("max_df", self.max_df)):
            if isinstance(value, float) and value > 1:
                raise ConfigError(
                    f"{name} as a float is a part of the texts and must be <= 1.0, got {value}: "
                    f"for a number of texts pass an int"
                )

    def sources(self) -> list[TermSource]:
        """The kinds of terms, words first."""
        kinds = ((True, self.word_ngrams), (False, self.char_ngrams))
        return [
            TermSource(words, ngrams, self.lowercase, self.strip_accents)
            for words, ngrams in kinds
            if ngrams is not None
        ]
