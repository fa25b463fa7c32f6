"""The example of docs/set-losses.md runs."""

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")

PAGE = Path(__file__).parents[2] / "docs" / "set-losses.md"


def test_the_example_runs():
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, object] = {}
    exec(example, names)
    assert set(names["terms"]) == {"matching", "transport", "loss"}
    assert names["states"].grad.abs().sum() > 0
