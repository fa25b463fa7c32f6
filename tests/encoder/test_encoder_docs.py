"""The examples of docs/encoders.md run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

PAGE = Path(__file__).parents[2] / "docs" / "encoders.md"


def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second, _ = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, object] = {}
    exec(first, names)
    exec(second, names)
    assert names["backbone"].encode(names["texts"]).shape == (3, 128)
    assert len(list((tmp_path / "cache").iterdir())) == 1
