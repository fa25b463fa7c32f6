import itertools
import re

import numpy as np
import pytest

from multitudes.features import TOKEN_PATTERN
from multitudes.features.stemming import distinct_words, known_words
from multitudes.features.text_buffer import text_chunks
from multitudes.features.vocabulary import Vocabulary
from multitudes.kernels.text import words as kernels
from tests.kernels.text.test_terms import TEXTS


def buffer_of(texts):
    ((n_rows, buffer),) = text_chunks(texts, lowercase=False, strip_accents=False)
    return buffer, n_rows


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
def test_words_are_read_in_their_order(texts):
    distinct, indptr, ids = distinct_words(*buffer_of(texts))
    assert len(set(distinct)) == len(distinct)
    found = [[distinct[i].decode() for i in ids[a:b]] for a, b in itertools.pairwise(indptr)]
    assert found == [re.findall(TOKEN_PATTERN, text) for text in texts]


def test_unknown_words_are_minus_one():
    known = Vocabulary.from_names(["bat", "crane"], joined_words=True)
    indptr, ids = known_words(*buffer_of(["a crane, a bat", "", "bats"]), known)
    assert indptr.tolist() == [0, 4, 4, 5]
    assert ids.tolist() == [-1, 1, -1, 0, -1]


def test_votes_equal_their_twin():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 16, 20).astype(np.uint64) << np.uint64(60) >> np.uint64(57)
    bits[0] = 1 << 63
    indptr = np.concatenate([[0], np.cumsum(rng.integers(0, 5, 50))])
    ids = rng.integers(0, 20, indptr[-1]).astype(np.int32)
    out = np.empty(50, np.int32)
    kernels.vote_rows(indptr, ids, bits, 4, out)
    for row, (a, b) in enumerate(itertools.pairwise(indptr)):
        votes = [sum(int(bits[i]) >> place & 1 for i in ids[a:b]) for place in range(64)]
        assert out[row] == (4 if votes[4] == max(votes) else votes.index(max(votes)))


def test_words_are_written_in_other_forms():
    indptr, ids = np.array([0, 2, 2, 3]), np.array([1, 0, 1], np.int32)
    forms = [b"a", b"bb", b"", b"dddd"]
    pool = np.frombuffer(b"".join(forms), np.uint8)
    ends = np.concatenate([[0], np.cumsum([len(form) for form in forms])])
    arguments = (indptr, ids, np.array([0, 0, 2]), pool, ends)
    n_bytes = kernels.write_words(*arguments, np.empty(0, np.uint8))
    out = np.empty(n_bytes, np.uint8)
    assert kernels.write_words(*arguments, out) == n_bytes
    assert bytes(out) == b"bb a \0\0dddd \0"
