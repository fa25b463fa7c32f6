"""Words of training texts, and texts as ids."""

import pytest

from multitudes.errors import DataError
from multitudes.seq2set.words.vocabulary import UNKNOWN, WordVocabulary

TEXTS = ["The cat, the dog", "a Cat in C++", "owl"]


def test_most_frequent_first_then_alphabetical():
    vocabulary = WordVocabulary.of_texts(TEXTS)
    assert vocabulary.words == ("cat", "the", "a", "c++", "dog", "in", "owl")
    assert vocabulary.ids["cat"] == 2
    assert len(vocabulary) == 9


def test_limits():
    assert WordVocabulary.of_texts(TEXTS, max_words=1).words == ("cat",)
    assert WordVocabulary.of_texts(TEXTS, min_count=2).words == ("cat", "the")
    assert "The" in WordVocabulary.of_texts(TEXTS, lowercase=False).words


def test_rows():
    vocabulary = WordVocabulary.of_texts(TEXTS)
    found = vocabulary.rows(["the Owl", "", "an owl", "cat dog cat", "?!"], max_length=2)
    rows = [
        found.rows.ids[a:b].tolist()
        for a, b in zip(found.rows.offsets, found.rows.offsets[1:], strict=False)
    ]
    assert rows == [[3, 8], [UNKNOWN], [UNKNOWN, 8], [2, 6], [UNKNOWN]]
    assert (found.n_empty, found.n_cut) == (2, 1)


def test_no_texts():
    assert len(WordVocabulary(("a",)).rows([], max_length=3).rows) == 0


def test_bad_input():
    with pytest.raises(DataError, match="text 1 is not a string but int: 3"):
        WordVocabulary.of_texts(["a", 3])
    with pytest.raises(DataError, match="wrap it in a list"):
        WordVocabulary.of_texts("a text")
    with pytest.raises(DataError, match="no word that occurs min_count=2 times"):
        WordVocabulary.of_texts(["", "a b"], min_count=2)
