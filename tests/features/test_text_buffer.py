import re
import sys

import numpy as np
import pytest

from multitudes.errors import DataError
from multitudes.features import text_buffer
from multitudes.features.text_buffer import as_texts, character_classes, encoded, text_chunks
from multitudes.kernels.text.terms import SPACE_CHAR, WORD_CHAR


def chunks(texts, **settings):
    settings = {"lowercase": True, "strip_accents": False, **settings}
    return [(n, bytes(buffer)) for n, buffer in text_chunks(texts, **settings)]


def test_each_text_ends_with_a_zero_byte():
    assert chunks(["Ab", "", "ß"]) == [(3, "ab\0\0ß\0".encode())]
    assert chunks(["a\0b", "c"]) == [(2, b"a b\0c\0")]
    assert chunks([]) == []


def test_chunks_hold_a_bounded_number_of_characters(monkeypatch):
    monkeypatch.setattr(text_buffer, "CHUNK_CHARACTERS", 5)
    found = chunks(["aaa", "bb", "c", "dddddddd", "e"])
    assert found == [(2, b"aaa\0bb\0"), (1, b"c\0"), (1, b"dddddddd\0"), (1, b"e\0")]


def test_texts_do_not_touch_each_other():
    # A combining mark at the start of a text must not join the text before, nor a sigma see it.
    texts = ["e", "\u0301", "ΑΣ", "Ω"]
    ((_, together),) = chunks(texts)
    assert together == b"".join(chunks([text])[0][1] for text in texts)


def test_lone_surrogates_become_question_marks():
    assert bytes(encoded(["a\ud800b"], lowercase=True, strip_accents=False)) == b"a?b\0"


def test_classes_are_those_of_the_regular_expressions():
    classes = character_classes()
    assert all(classes[ord(c)] == WORD_CHAR for c in "azAZ09_äß東и")
    assert all(classes[ord(c)] == SPACE_CHAR for c in " \t\n\u00a0\u3000")
    assert not any(classes[ord(c)] for c in "+#-.\0\u0301")
    assert np.flatnonzero(classes == SPACE_CHAR).size == sum(
        chr(i).isspace() for i in range(1 << 16)
    )


def test_no_letter_or_space_lies_beyond_the_planes_that_are_read():
    beyond = "".join(map(chr, range(text_buffer.PLANES << 16, sys.maxunicode + 1)))
    assert not re.search(r"[\w\s]", beyond)
    assert len(character_classes()) == sys.maxunicode + 1


def test_a_matrix_is_not_texts():
    with pytest.raises(DataError, match="pass a list of str"):
        as_texts(np.ones((2, 2)))
