"""How texts become words, and words become vectors."""

from __future__ import annotations

from dataclasses import dataclass

from multitudes.config import Config, setting


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
