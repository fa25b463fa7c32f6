"""Every guarantee names the tests that hold it, and they are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_each_guarantee_is_held_by_tests_that_exist():
    sections = (ROOT / "docs/guarantees.md").read_text("utf-8").split("\n## ")[1:]
    promises = [section for section in sections if section[0].isdigit()]
    assert len(promises) == 7
    for promise in promises:
        named = re.findall(r"`(tests/[\w/]+\.py)`", promise)
        assert named, promise.splitlines()[0]
        assert [name for name in named if not (ROOT / name).is_file()] == []
