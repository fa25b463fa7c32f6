from __future__ import annotations

import hashlib
import subprocess
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from multitudes.encoder.backbone.scratch import scratch_tokenizer

_IN_ANOTHER_PROCESS = """
import hashlib, sys
from multitudes.encoder.backbone.scratch import scratch_tokenizer
texts = sys.stdin.read().split("\\n")
backend = scratch_tokenizer(texts, vocabulary_size=400).backend_tokenizer
print(hashlib.sha256(backend.to_str().encode()).hexdigest())
"""


def learned(texts) -> dict[str, int]:
    return scratch_tokenizer(texts, vocabulary_size=400).get_vocab()


def test_the_order_of_texts_does_not_matter(texts):
    assert learned(texts) == learned(texts[::-1])


def test_the_same_in_every_process(texts):
    answer = subprocess.run(
        [sys.executable, "-c", _IN_ANOTHER_PROCESS],
        input="\n".join(texts),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    here = scratch_tokenizer(texts, vocabulary_size=400).backend_tokenizer.to_str()
    assert answer.strip() == hashlib.sha256(here.encode()).hexdigest()


def test_words_become_pieces_and_case_is_lost(texts):
    tokenizer = scratch_tokenizer(texts, vocabulary_size=512)
    assert tokenizer.tokenize("Red BOX") == tokenizer.tokenize("red box") == ["Ġred", "Ġbox"]
    assert len(tokenizer) <= 512


def test_no_character_is_unknown(texts):
    tokenizer = scratch_tokenizer(texts, vocabulary_size=300)
    assert (
        tokenizer.decode(tokenizer("東京 ☂")["input_ids"], skip_special_tokens=True) == " 東 京 ☂"
    )


@pytest.mark.parametrize("texts", [[], [""]])
def test_no_words_at_all(texts):
    tokenizer = scratch_tokenizer(texts, vocabulary_size=300)
    assert len(tokenizer("new word")["input_ids"]) > 2
