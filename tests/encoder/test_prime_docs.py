"""The examples of docs/prime.md run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "prime.md").read_text()


def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, _, new_labels, _, why = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(first, names)
    exec(new_labels, names)
    exec(why, names)
    assert names["found"].labels.shape == (1, 3)
    assert names["model"].n_labels_ == 43
    assert len(names["why"].nearest.instances) > 0
