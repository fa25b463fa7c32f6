"""Problem 13: ``train <(zcat ...)`` and ``evaluate <(...)`` said that /dev/fd/63 is empty."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import records, write_lines


@pytest.fixture
def pipe(tmp_path: Path) -> Callable[[str], Path]:
    """Make what the shell makes of ``<(cat FILE)``: a pipe that can be read once, forwards."""

    def make(content: str) -> Path:
        path = tmp_path / f"pipe{len(list(tmp_path.iterdir()))}"
        os.mkfifo(path)
        threading.Thread(target=path.write_text, args=[content], daemon=True).start()
        return path

    return make


def test_all_verbs_read_pipes(cli, tmp_path: Path, pipe) -> None:
    train = write_lines(tmp_path / "train.jsonl", records(60)).read_text()
    test = write_lines(tmp_path / "test.jsonl", records(80)[60:]).read_text()
    model, found = tmp_path / "model", tmp_path / "found.jsonl"
    assert cli("train", pipe(train), "-o", model, "--test", pipe(test), "-q").code == 0
    assert cli("predict", model, pipe(test), "-o", found, "-q").code == 0
    by_pipe = cli("evaluate", pipe(found.read_text()), pipe(test), "--json", "-q")
    by_file = cli("evaluate", found, tmp_path / "test.jsonl", "--json", "-q")
    assert by_pipe.code == by_file.code == 0
    assert by_pipe.json == by_file.json
    grouped = '{"text": "a", "group": "g"}\n'
    groups = pipe('{"group": "g", "labels": ["x"]}\n')
    options = ["--read", f"group_labels={groups}", "--write", f"group_labels={tmp_path / 'g'}"]
    assert cli("convert", pipe(grouped), tmp_path / "o.csv", *options).code == 0
    assert '"labels":["x"]' in (tmp_path / "g").read_text()


def test_an_error_names_the_pipe(cli, tmp_path: Path, pipe) -> None:
    broken = pipe('{"text": 1}\n')
    result = cli("convert", broken, tmp_path / "o.csv")
    assert result.code == 3
    assert f"{broken}:1: 'text' is not a text" in result.err
    empty = pipe("")
    assert f"{empty} is empty" in cli("convert", empty, tmp_path / "o.csv").err
