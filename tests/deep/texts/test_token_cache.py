from __future__ import annotations

import os

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from multitudes.deep.texts import token_cache as module
from multitudes.deep.texts.token_cache import fingerprint, kept_tokens, token_cache
from multitudes.deep.texts.tokenizing import tokenize
from multitudes.encoder.backbone.loading import scratch_tokenizer
from multitudes.errors import DataError, StoreError


@pytest.fixture(scope="module")
def tokenizer(texts):
    return scratch_tokenizer(texts, vocabulary_size=512)


@pytest.fixture
def calls(monkeypatch):
    """How many times texts were tokenized."""
    made = []

    def counted(texts, tokenizer, *, max_length):
        made.append(len(texts))
        return tokenize(texts, tokenizer, max_length=max_length)

    monkeypatch.setattr(module, "tokenize", counted)
    return made


def same(a, b) -> bool:
    counts = (a.n_empty, a.n_cut) == (b.n_empty, b.n_cut)
    arrays = (
        np.array_equal(a.rows.ids, b.rows.ids),
        np.array_equal(a.rows.offsets, b.rows.offsets),
    )
    return counts and all(arrays)


def test_made_once_and_used_again(tmp_path, texts, tokenizer, calls):
    texts = [*texts, ""]
    first = token_cache(tmp_path / "deep" / "cache", texts, tokenizer, 8)
    again = token_cache(tmp_path / "deep" / "cache", texts, tokenizer, 8)
    assert calls == [len(texts)]
    assert same(first, again)
    assert same(first, tokenize(texts, tokenizer, max_length=8))
    assert first.rows.ids.dtype == np.uint16
    assert not again.rows.ids.flags.writeable
    assert len(list((tmp_path / "deep" / "cache").iterdir())) == 1


def test_other_texts_limits_and_tokenizers_have_other_files(tmp_path, texts, tokenizer, calls):
    other = scratch_tokenizer(texts[:10], vocabulary_size=300)
    asked = [(texts, tokenizer, 8), (texts[:-1], tokenizer, 8), (texts, tokenizer, 9)]
    asked += [(texts, other, 8), (texts[::-1], tokenizer, 8)]
    for some, by, limit in asked:
        found = token_cache(tmp_path, some, by, limit)
        assert same(found, tokenize(some, by, max_length=limit))
    assert len(calls) == len(asked)


def test_where_a_text_ends_matters(tokenizer):
    assert fingerprint(["ab", "c"], tokenizer, 8) != fingerprint(["a", "bc"], tokenizer, 8)


def test_earlier_use_of_the_tokenizer_does_not(texts, tokenizer):
    before = fingerprint(texts, tokenizer, 8)
    tokenize(texts, tokenizer, max_length=5)
    tokenizer(texts[:1], padding="max_length", max_length=12)
    assert fingerprint(texts, tokenizer, 8) == before


@pytest.mark.parametrize("content", [b"", b"12345678", None])
def test_a_damaged_file_is_made_again(tmp_path, texts, tokenizer, calls, content):
    token_cache(tmp_path, texts, tokenizer, 8)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-8] if content is None else content)
    assert same(
        token_cache(tmp_path, texts, tokenizer, 8), tokenize(texts, tokenizer, max_length=8)
    )
    assert len(calls) == 2


def test_nothing_is_left_of_a_write_that_failed(tmp_path, texts, tokenizer, monkeypatch):
    def full(file, arrays):
        file.write(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr(module, "dump_arrays", full)
    with pytest.raises(StoreError, match="no space left on device"):
        token_cache(tmp_path, texts, tokenizer, 8)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_a_text(tmp_path, tokenizer):
    with pytest.raises(DataError, match="text 1 is not a string but int"):
        token_cache(tmp_path, ["a", 5], tokenizer, 8)


def test_no_texts(tmp_path, tokenizer):
    assert len(token_cache(tmp_path, [], tokenizer, 8).rows) == 0


@pytest.fixture
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MULTITUDES_CACHE", str(tmp_path))
    monkeypatch.delenv(module.VARIABLE, raising=False)
    monkeypatch.setattr(module, "WORTHWHILE", 3)


def files_of(folder):
    return sorted((folder / "tokens").glob("*.safetensors"))


@pytest.mark.usefixtures("_cache")
def test_many_texts_are_kept_by_themselves(texts, tokenizer, tmp_path, monkeypatch):
    expected = tokenize(texts, tokenizer, max_length=8)
    for _ in range(2):
        assert same(kept_tokens(texts, tokenizer, max_length=8), expected)
    assert len(files_of(tmp_path)) == 1
    kept_tokens(texts[:2], tokenizer, max_length=8)  # too few
    monkeypatch.setenv(module.VARIABLE, "off")
    kept_tokens(texts, tokenizer, max_length=7)
    assert len(files_of(tmp_path)) == 1
    monkeypatch.delenv(module.VARIABLE)
    monkeypatch.setattr(module, "tokenize", lambda *given, **options: pytest.fail("not again"))
    assert same(kept_tokens(texts, tokenizer, max_length=8), expected)


@pytest.mark.usefixtures("_cache")
def test_any_changed_byte_is_seen(texts, tokenizer, tmp_path):
    expected = tokenize(texts, tokenizer, max_length=8)
    kept_tokens(texts, tokenizer, max_length=8)
    (path,) = files_of(tmp_path)
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert same(kept_tokens(texts, tokenizer, max_length=8), expected)
    assert path.read_bytes() == whole


@pytest.mark.usefixtures("_cache")
def test_what_was_not_used_for_longest_goes_first(texts, tokenizer, tmp_path, monkeypatch):
    for age, length in enumerate([8, 7, 6]):
        kept_tokens(texts, tokenizer, max_length=length)
        for path in files_of(tmp_path):
            os.utime(path, (path.stat().st_mtime - 100, path.stat().st_mtime - 100))
        assert len(files_of(tmp_path)) == age + 1
    kept_tokens(texts, tokenizer, max_length=8)  # used again
    monkeypatch.setattr(module, "LARGEST", sum(p.stat().st_size for p in files_of(tmp_path)))
    kept_tokens(texts, tokenizer, max_length=5)
    left = {path.stem for path in files_of(tmp_path)}
    assert fingerprint(texts, tokenizer, 8) in left
    assert fingerprint(texts, tokenizer, 5) in left
    assert fingerprint(texts, tokenizer, 7) not in left


@pytest.mark.usefixtures("_cache")
def test_where_nothing_can_be_written_they_are_only_made(texts, tokenizer, tmp_path):
    (tmp_path / "tokens").write_text("a file, not a folder")
    expected = tokenize(texts, tokenizer, max_length=8)
    assert same(kept_tokens(texts, tokenizer, max_length=8), expected)
