"""Texts to token ids: many at a time, on all cores, without padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from multitudes.deep.texts.tokens import TokenRows
from multitudes.errors import ConfigError
from multitudes.features.text_buffer import as_texts, not_a_text
from multitudes.progress import track

CHUNK_TEXTS = 8192
CHARACTERS_PER_TOKEN = 10  # more than words take; see `_beginning`


@dataclass(frozen=True)
class Tokenized:
    """Token ids of texts, and what became of unusual ones.

    Parameters
    ----------
    rows : TokenRows
    n_empty : int
        Texts without any token of their own: empty, or nothing but what the tokenizer drops. They
        keep their special tokens, so each has an embedding, the same for all of them.
    n_cut : int
        Texts longer than the limit, of which only the beginning is used.
    """

    rows: TokenRows
    n_empty: int
    n_cut: int


def tokenize(texts: Sequence[str], tokenizer: Any, *, max_length: int) -> Tokenized:
    """Token ids of texts.

    Parameters
    ----------
    texts : sequence of str
    tokenizer : transformers.PreTrainedTokenizerFast
    max_length : int
        Tokens kept of a text, special ones included; the special ones at its end stay.

    Returns
    -------
    Tokenized
        Ids are uint16 where the vocabulary fits, else int32.
    """
    texts = as_texts(texts)
    backend = tokenizer.backend_tokenizer
    n_special = backend.num_special_tokens_to_add(is_pair=False)
    if max_length <= n_special:
        raise ConfigError(
            f"max_length must be > {n_special}, the special tokens around a text, got {max_length}"
        )
    _cut_at(backend, max_length)
    kind = id_type(len(tokenizer))
    ids, lengths, n_cut = [np.zeros(0, kind)], [np.zeros(1, np.int64)], 0
    with track("tokenizing", len(texts), "texts") as task:
        for start, chunk in _chunks(texts):
            encodings = _encode(backend, chunk, start, max_length)
            size = np.fromiter(map(len, encodings), np.int64, len(encodings))
            flat = chain.from_iterable(encoding.ids for encoding in encodings)
            ids.append(np.fromiter(flat, kind, int(size.sum())))
            lengths.append(size)
            full = np.flatnonzero(size == max_length)
            n_cut += sum(is_cut(encodings[i]) for i in full)
            task.advance(len(chunk))
    all_lengths = np.concatenate(lengths)
    rows = TokenRows(np.concatenate(ids), np.cumsum(all_lengths))
    return Tokenized(rows, n_empty=int((~has_words(rows, tokenizer)).sum()), n_cut=n_cut)


def has_words(rows: TokenRows, tokenizer: Any) -> npt.NDArray[np.bool_]:
    """Which texts (n_texts,) have a token of their own besides the special ones."""
    n_special: int = tokenizer.backend_tokenizer.num_special_tokens_to_add(is_pair=False)
    return np.asarray(rows.lengths > n_special)


def id_type(vocabulary_size: int) -> npt.DTypeLike:
    """The smallest type of the two that token ids come in."""
    return np.uint16 if vocabulary_size <= np.iinfo(np.uint16).max + 1 else np.int32


def _chunks(texts: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    for start in range(0, len(texts), CHUNK_TEXTS):
        yield start, texts[start : start + CHUNK_TEXTS]


def _cut_at(backend: Any, max_length: int) -> None:
    """Set the tokenizer's limit, only where it differs: another thread may be reading with it."""
    if backend.padding is not None:
        backend.no_padding()
    wanted = {"max_length": max_length, "stride": 0, "strategy": "longest_first"}
    if backend.truncation != {**wanted, "direction": "right"}:
        backend.enable_truncation(max_length)


def _encode(backend: Any, chunk: Sequence[str], first: int, max_length: int) -> list[Any]:
    """One encoding per text; of a long text the beginning is tried first, and often enough."""
    if not all(isinstance(text, str) for text in chunk):
        raise not_a_text(chunk, first)
    limit = CHARACTERS_PER_TOKEN * max_length
    encodings = _encode_whole(backend, [_beginning(text, limit) for text in chunk])
    again = [i for i, text in enumerate(chunk) if len(text) > limit and not is_cut(encodings[i])]
    whole = _encode_whole(backend, [chunk[i] for i in again])
    for i, encoding in zip(again, whole, strict=True):
        encodings[i] = encoding
    return encodings


def is_cut(encoding: Any) -> bool:
    """Whether the text had more tokens than the limit."""
    return bool(encoding.overflowing)


def _beginning(text: str, limit: int) -> str:
    """The words within the first `limit` characters.

    A tokenizer reads a text to its end before it cuts it. Words do not depend on words that come
    later, so if the beginning alone is too long, its tokens are those of the whole text.
    """
    return text if len(text) <= limit else text[:limit].rpartition(" ")[0]


def _encode_whole(backend: Any, texts: Sequence[str]) -> list[Any]:
    try:
        return list(backend.encode_batch_fast(texts))
    except TypeError:
        # A lone surrogate is not a character; "?" keeps its neighbors apart.
        sound = [text.encode("utf-8", "replace").decode() for text in texts]
        return list(backend.encode_batch_fast(sound))
