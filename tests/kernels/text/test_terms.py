import itertools
from collections import Counter

import numpy as np
import pytest

from multitudes.features.text_buffer import character_classes, text_chunks
from multitudes.features.vocabulary import empty_table, term_bytes
from multitudes.kernels.text import terms
from tests.kernels.twins import text as reference

TEXTS = {
    "none": [""],
    "one row": ["a crane, a crane and a bat"],
    "duplicates": ["bat bat bat", "bat bat bat"],
    "scripts": ["Łódź 東京 naïve", "c++ c# c+ ++ #x", "x" * 200 + "é" * 100],
    "spaces": ["  a\u3000b\u00a0c \n", " \t", "a\x1cb"],
}
CASES = [
    (terms.count_words, reference.word_ngrams_of, (1, 1)),
    (terms.count_words, reference.word_ngrams_of, (2, 3)),
    (terms.count_characters, reference.character_ngrams_of, (1, 4)),
    (terms.count_characters, reference.character_ngrams_of, (5, 6)),
]


def run(kernel, texts, ngrams, table, mode, n_columns=0):
    ((n_rows, buffer),) = text_chunks(texts, lowercase=False, strip_accents=False)
    ids, counts = np.empty(5000, np.int32), np.empty(5000, np.int32)
    indptr = np.zeros(n_rows + 1, np.int64)
    # Rubbish on purpose: the kernel must not trust what it finds here.
    where = np.random.default_rng(0).integers(-5, 300, max(len(table.hashes), n_columns))
    classes = character_classes()
    end = kernel(
        buffer, 0, 0, classes, ngrams, table, mode, n_columns, ids, counts, indptr, where
    )  # fmt: skip
    return end, n_rows, [
        dict(zip(ids[i:j].tolist(), counts[i:j].tolist(), strict=True))
        for i, j in itertools.pairwise(indptr)
    ]  # fmt: skip


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS.keys())
@pytest.mark.parametrize(("kernel", "twin", "ngrams"), CASES)
def test_counts_equal_the_twin(kernel, twin, ngrams, texts):
    table = empty_table(4000)
    (_, row), n_rows, rows = run(kernel, texts, ngrams, table, terms.INSERT)
    assert row == n_rows
    names = [t.decode() for t in term_bytes(table.pool, table.ends[: int(table.size[0]) + 1])]
    counted = [{names[i]: count for i, count in row.items()} for row in rows]
    assert counted == [Counter(twin(text, *ngrams)) for text in texts]
    # Looking the same terms up finds the same ids.
    assert run(kernel, texts, ngrams, table, terms.LOOKUP)[2] == rows


@pytest.mark.parametrize(("kernel", "twin", "ngrams"), CASES)
def test_hashed_columns_equal_the_twin(kernel, twin, ngrams):
    texts = TEXTS["scripts"]
    words = kernel is terms.count_words
    rows = run(kernel, texts, ngrams, empty_table(1), terms.HASH, n_columns=97)[2]
    expected = [
        Counter(
            reference.term_hash(gram.encode(), joined_words=words) % 97
            for gram in twin(text, *ngrams)
        )
        for text in texts
    ]
    assert rows == expected


def test_a_full_table_stops_at_the_start_of_a_text():
    table = empty_table(3)
    texts = ["a b", "c d", "e"]
    (position, row), n_rows, _ = run(terms.count_words, texts, (1, 1), table, terms.INSERT)
    assert (position, row, n_rows) == (4, 1, 3)


def test_unknown_terms_are_passed_over():
    table = empty_table(10)
    run(terms.count_words, ["known"], (1, 1), table, terms.INSERT)
    rows = run(terms.count_words, ["new known new"], (1, 1), table, terms.LOOKUP)[2]
    assert rows == [{0: 1}]
    assert int(table.size[0]) == 1
