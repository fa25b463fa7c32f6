"""The README's commands and code run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from multitudes.data import make_catalogue, split, write_dataset

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """A folder with the files that the README's commands speak of."""
    folder = tmp_path_factory.mktemp("readme")
    train, test = split(make_catalogue(3000, n_labels=300).dataset, test_size=0.2)
    write_dataset(train, folder / "train.jsonl")
    write_dataset(test, folder / "test.jsonl")
    return folder


def run(command: list[str] | str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder,
        shell=isinstance(command, str),
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PATH": path},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_short():
    assert len(README.splitlines()) < 150


def test_python_runs(workplace):
    printed = run([sys.executable, "-c", blocks("python")[0]], workplace)
    assert "Tag(label=" in printed


def test_shell_runs(workplace):
    commands = blocks("shell")[1].strip().splitlines()
    assert len(commands) == 5
    outputs = [run(command, workplace) for command in commands]
    assert "600 instances" in outputs[2]


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^make (\w+)", blocks("shell")[0], flags=re.MULTILINE)
    assert targets == ["demo", "test"]
    assert all(re.search(rf"^{target}:", makefile, flags=re.MULTILINE) for target in targets)


def test_linked_pages_exist():
    links = re.findall(r"\]\(([^)#]+\.md)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
