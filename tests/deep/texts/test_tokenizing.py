from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")
pytest.importorskip("transformers")

from multitudes.deep.texts import tokenizing
from multitudes.deep.texts.tokenizing import id_type, tokenize
from multitudes.encoder.backbone.loading import scratch_tokenizer
from multitudes.errors import ConfigError, DataError


@pytest.fixture(scope="module")
def tokenizer(texts):
    return scratch_tokenizer(texts, vocabulary_size=512)


def as_lists(tokenized) -> list[list[int]]:
    rows = tokenized.rows
    return [row.tolist() for row in np.split(rows.ids, rows.offsets[1:-1])]


def test_ids_are_those_of_the_tokenizer(tokenizer, texts):
    tokenized = tokenize(texts, tokenizer, max_length=16)
    expected = tokenizer(texts, truncation=True, max_length=16)["input_ids"]
    assert as_lists(tokenized) == expected
    assert tokenized.rows.ids.dtype == np.uint16


def test_chunks_follow_each_other(tokenizer, texts, monkeypatch):
    whole = as_lists(tokenize(texts, tokenizer, max_length=16))
    monkeypatch.setattr(tokenizing, "CHUNK_TEXTS", 7)
    assert as_lists(tokenize(texts, tokenizer, max_length=16)) == whole


def test_cut_and_empty_texts_are_counted(tokenizer):
    exactly = tokenizer("red box")["input_ids"]
    limit = len(exactly)
    texts = ["red box", "red box blue car", "", " ", "\u200b", "red"]
    tokenized = tokenize(texts, tokenizer, max_length=limit)
    assert (tokenized.n_cut, tokenized.n_empty) == (1, 3)
    ends = [tokenizer.cls_token_id, tokenizer.sep_token_id]
    assert as_lists(tokenized)[0] == exactly
    assert as_lists(tokenized)[2:5] == [ends, ends, ends]
    assert [as_lists(tokenized)[1][0], as_lists(tokenized)[1][-1]] == ends
    assert len(as_lists(tokenized)[1]) == limit


def test_the_limit_of_an_earlier_call_is_gone(tokenizer):
    text = ["red box blue car old house"]
    long = as_lists(tokenize(text, tokenizer, max_length=30))
    tokenize(text, tokenizer, max_length=4)
    tokenizer(text, padding="max_length", truncation=True, max_length=9)
    assert as_lists(tokenize(text, tokenizer, max_length=30)) == long


WORD = st.sampled_from(["red", "blue", "a", "...", "x" * 90, "größe", "東京", "\n", "", "\u200b"])


@settings(max_examples=50)
@given(st.lists(st.lists(WORD, max_size=80).map(" ".join), max_size=4), st.integers(3, 12))
def test_reading_only_the_beginning_of_a_long_text_changes_nothing(tokenizer, texts, max_length):
    tokenized = tokenize(texts, tokenizer, max_length=max_length)
    whole = [tokenizer(text)["input_ids"] for text in texts]
    expected = [
        ids if len(ids) <= max_length else [*ids[: max_length - 1], ids[-1]] for ids in whole
    ]
    assert [ids for ids in as_lists(tokenized) if ids] == expected
    assert tokenized.n_cut == sum(len(ids) > max_length for ids in whole)


def test_no_texts(tokenizer):
    tokenized = tokenize([], tokenizer, max_length=8)
    assert (len(tokenized.rows), tokenized.n_cut, tokenized.n_empty) == (0, 0, 0)


def test_half_a_surrogate_pair_is_a_question_mark(tokenizer):
    odd, plain = tokenize(["red \ud800 box"], tokenizer, max_length=8), ["red ? box"]
    assert as_lists(odd) == as_lists(tokenize(plain, tokenizer, max_length=8))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("one text", "wrap it in a list"),
        (["a", None], "text 1 is not a string but NoneType"),
        (["a", ("b", "c")], "text 1 is not a string but tuple"),
    ],
)
def test_what_is_not_a_text(tokenizer, wrong, message):
    with pytest.raises(DataError, match=message):
        tokenize(wrong, tokenizer, max_length=8)


def test_room_for_special_tokens(tokenizer):
    with pytest.raises(ConfigError, match="max_length must be > 2"):
        tokenize(["a"], tokenizer, max_length=2)


def test_ids_of_large_vocabularies_need_more_bits():
    assert (id_type(65536), id_type(65537)) == (np.uint16, np.int32)
