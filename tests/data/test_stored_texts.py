"""Texts on disk under a limit of memory: the same sequence, the same features, the same model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multitudes import Tagger, memory
from multitudes.cli import main
from multitudes.data import read_dataset
from multitudes.features import TfidfFeatures
from multitudes.files import large
from multitudes.files.texts import StoredTexts, TextShelf

TEXTS = ["one text", "", "Zürich 東京 🎈", "a\0b", "lone \udc80 surrogate", "last\nline"]


@pytest.fixture(autouse=True)
def everything_on_disk(monkeypatch):
    """Under a limit, put all but the smallest arrays on disk, in small slabs."""
    monkeypatch.setattr(large, "SHARE", 10**9)
    monkeypatch.setattr(large, "IN_MEMORY", 0)
    monkeypatch.setattr(large, "SMALLEST", 64)
    monkeypatch.setattr(large, "SLAB", 1 << 12)


def stored(*blocks: list[str]) -> Any:
    """Return texts that were added block by block, under a limit."""
    with memory.limited("4GB"):
        shelf = TextShelf()
        for block in blocks:
            shelf.extend(block)
        assert len(shelf) == sum(map(len, blocks))
        return shelf.texts()


def test_stored_texts_are_the_sequence_that_was_given() -> None:
    texts = stored(TEXTS[:2], [], TEXTS[2:])
    assert isinstance(texts, StoredTexts)
    assert list(texts) == TEXTS
    assert [texts[i] for i in range(-6, 6)] == TEXTS + TEXTS
    for part in (slice(1, 4), slice(3, None), slice(2, 2), slice(None, None, -1), slice(0, 6, 2)):
        assert list(texts[part]) == TEXTS[part]
    assert list(texts[1:][1:3]) == TEXTS[2:4]
    assert list(texts.take(np.array([4, 0, 4]))[1:]) == [TEXTS[0], TEXTS[4]]
    with pytest.raises(IndexError):
        texts[6]
    assert list(stored()) == []


def test_without_a_limit_texts_stay_in_a_list() -> None:
    shelf = TextShelf()
    shelf.extend(TEXTS)
    assert shelf.texts() == TEXTS


def write_lines(path: Path) -> Path:
    """Write a file of texts whose words tell their labels."""
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(400):
        labels = sorted(set(rng.integers(0, 30, 2).tolist()))
        words = [f"word{label} of{label % 7}" for label in labels]
        text = f"{' '.join(words)} {' '.join(map(str, rng.integers(0, 50, 8)))}"
        lines.append(json.dumps({"text": text, "labels": [f"l{label}" for label in labels]}))
    path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("settings", [{}, {"char_ngrams": (3, 3)}, {"min_df": 2, "n_jobs": 2}])
def test_features_of_stored_texts_are_the_same(tmp_path: Path, settings: dict[str, Any]) -> None:
    path = write_lines(tmp_path / "data.jsonl")
    texts = read_dataset(path).texts
    expected = TfidfFeatures(**settings).fit_transform(texts)
    with memory.limited("4GB"):
        dataset = read_dataset(path)
        assert isinstance(dataset.texts, StoredTexts)
        assert isinstance(dataset[10:20].texts, StoredTexts)
        features = TfidfFeatures(**settings)
        found = features.fit_transform(dataset.texts)
        again = features.transform(dataset.texts)
    for other in (found, again):
        assert np.array_equal(other.indptr, expected.indptr)
        assert np.array_equal(other.indices, expected.indices)
        assert np.array_equal(other.data, expected.data)


def test_the_command_trains_the_same_model_under_a_limit(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "data.jsonl")
    for name, more in (("free", []), ("limited", ["--memory", "4G"])):
        with pytest.raises(SystemExit) as left:
            main(
                [
                    "train",
                    str(path),
                    "-o",
                    str(tmp_path / name),
                    "--model",
                    "xr-linear",
                    "-q",
                    *more,
                ]
            )
        assert left.value.code == 0
    files = {
        name: {
            file.name: file.read_bytes()
            for file in sorted((tmp_path / name).rglob("*"))
            if file.suffix == ".safetensors"
        }
        for name in ("free", "limited")
    }
    assert files["free"] == files["limited"]
    assert files["free"]
    limited = Tagger("xr-linear", memory_limit="4GB").fit(read_dataset(path))
    texts = ["word3 of3", "word9 of2"]
    tags = Tagger.load(tmp_path / "free").predict(texts)
    assert limited.predict(texts) == tags
