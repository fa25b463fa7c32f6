"""The page on groups: its files are read, its Python runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from multitudes.data import ReadOptions, read_dataset

PAGE = (Path(__file__).parents[2] / "docs" / "groups.md").read_text()
YOUR_DATA = PAGE.split("## Your data")[1].split("\n## ")[0]
FILES = dict(re.findall(r'```\w+ title="([^"]+)"\n(.*?)```', YOUR_DATA, flags=re.DOTALL))
CODE = re.findall(r"```python\n(.*?)```", YOUR_DATA, flags=re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the page's files, to work in."""
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_files_are_read(folder: Path) -> None:
    options = ReadOptions(group_labels="pages.jsonl")
    pages = read_dataset("paragraphs.jsonl", options=options)
    assert pages.groups is not None
    assert pages.groups.shape == (4, 3)
    assert pages.group_labels is not None
    assert pages.group_labels.sum() == 5


def test_the_python_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for code in CODE:
        exec(code, {})
    assert "3 groups of 1.7 instances" in capsys.readouterr().out
