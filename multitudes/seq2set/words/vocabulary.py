"""WordVocabulary: the words of the training texts, and texts as rows of word ids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from multitudes.config import Config, setting
from multitudes.deep.texts.tokenizing import Tokenized, id_type
from multitudes.deep.texts.tokens import TokenRows
from multitudes.errors import DataError
from multitudes.features.text_buffer import TOKEN_PATTERN, as_texts, not_a_text

PADDING, UNKNOWN = 0, 1
N_SPECIAL = 2
_WORD = re.compile(TOKEN_PATTERN)


@dataclass(frozen=True)
class WordsConfig(Config):
    """Vocabulary, length of texts, and word vectors."""

    vectors: str | None = setting(
        None,
        "File of word vectors (word2vec or GloVe, text or binary); None: learned from nothing.",
    )
    dim: int | None = setting(
        None, "Width of word vectors; None: the file's, or 300 without a file.", at_least=1
    )
    max_words: int = setting(500_000, "Words of the vocabulary at most, by frequency.", at_least=1)
    min_count: int = setting(1, "Occurrences a word needs to be in the vocabulary.", at_least=1)
    max_length: int = setting(512, "Words kept of a text.", at_least=1)
    lowercase: bool = setting(True, "Whether words are lower-cased.")
    frozen: bool = setting(False, "Keep word vectors as they are; otherwise they learn too.")
    label_embeddings: str = setting(
        "words",
        "Where label embeddings start: the mean of the label's word vectors, or random.",
        choices=("words", "random"),
    )


@dataclass(frozen=True)
class WordVocabulary:
    """Words and their ids: 0 is padding, 1 a word that training did not see, words follow.

    Parameters
    ----------
    words : tuple of str
        Most frequent first; equally frequent ones in alphabetical order. Word i has id i + 2.
    lowercase : bool
        Whether texts are lower-cased before they are looked up.
    """

    words: tuple[str, ...]
    lowercase: bool = True

    def __len__(self) -> int:
        """Number of ids, the special ones included."""
        return len(self.words) + N_SPECIAL

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of each word."""
        return {word: i for i, word in enumerate(self.words, N_SPECIAL)}

    @classmethod
    def of_texts(
        cls,
        texts: Iterable[str],
        *,
        max_words: int = 500_000,
        min_count: int = 1,
        lowercase: bool = True,
    ) -> WordVocabulary:
        """The most frequent words of texts: of the training split alone."""
        counts: Counter[str] = Counter()
        for words in split_words(as_texts(texts), lowercase=lowercase):
            counts.update(words)
        kept = [word for word, n in counts.items() if n >= min_count]
        if not kept:
            raise DataError(
                f"the training texts have no word that occurs min_count={min_count} times or "
                f"more (they have {len(counts):,} different words): there is nothing to learn from"
            )
        kept.sort(key=lambda word: (-counts[word], word))
        return cls(tuple(kept[:max_words]), lowercase)

    def rows(self, texts: Sequence[str], *, max_length: int) -> Tokenized:
        """Texts as word ids, cut to `max_length` words.

        A text without a word, an empty one for instance, is one unknown word.
        """
        texts = as_texts(texts)
        ids, lengths, n_empty, n_cut = [], np.zeros(len(texts) + 1, np.int64), 0, 0
        known = self.ids
        kind = id_type(len(self))
        for i, words in enumerate(split_words(texts, lowercase=self.lowercase), 1):
            n_empty += not words
            n_cut += len(words) > max_length
            row = [known.get(word, UNKNOWN) for word in words[:max_length]] or [UNKNOWN]
            ids.append(np.array(row, kind))
            lengths[i] = len(row)
        flat = np.concatenate(ids) if ids else np.zeros(0, kind)
        return Tokenized(TokenRows(flat, np.cumsum(lengths)), n_empty=n_empty, n_cut=n_cut)


def split_words(texts: Sequence[str], *, lowercase: bool) -> Iterator[list[str]]:
    """Yield the words of each text, split as `multitudes.features` splits them."""
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise not_a_text([text], i)
        yield _WORD.findall(text.lower() if lowercase else text)
