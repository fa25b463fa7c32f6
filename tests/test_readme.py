"""The README: short, its links lead somewhere, and its four commands work as a user types them.

All its code blocks run in `tests/docs/test_code_blocks.py`; this is the installed command itself.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
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
    write_dataset(train, folder / "my.csv")
    write_dataset(test, folder / "test.csv")
    return folder


@pytest.fixture
def environment():
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path}


def test_it_is_short():
    assert len(README.splitlines()) < 150


def test_four_commands_lead_from_a_csv_to_a_served_model(workplace, environment):
    *commands, serve = blocks("shell")[1].strip().splitlines()
    outputs = []
    for command in commands:
        done = subprocess.run(
            command, cwd=workplace, shell=True, capture_output=True, text=True, env=environment
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert len(commands) == 3
    assert "600 instances" in outputs[2]
    assert "probabilities" in answers_of(serve, workplace, environment)


def answers_of(command: str, folder: Path, environment: dict[str, str]) -> str:
    """What the served model says about itself; it is calibrated."""
    words = command.partition("#")[0].split()
    words[words.index("8000")] = "0"  # any port that is free
    server = subprocess.Popen(words, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        address = None
        begun = time.monotonic()
        while address is None and time.monotonic() - begun < 120:
            address = re.search(r"at (http://\S+?),", server.stderr.readline())
        assert address is not None
        asked = {"texts": ["Oak writing desk with three drawers"], "kind": "sets"}
        request = urllib.request.Request(
            f"{address[1]}/v1/predict",
            data=json.dumps(asked).encode(),
            headers={"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert "predictions" in json.load(answer)
        with urllib.request.urlopen(f"{address[1]}/v1/models", timeout=60) as answer:
            return answer.read().decode()
    finally:
        server.terminate()
        server.communicate(timeout=60)


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^make (\w+)", "\n".join(blocks("shell")), flags=re.MULTILINE)
    assert targets == ["demo", "test"]
    assert all(re.search(rf"^{target}:", makefile, flags=re.MULTILINE) for target in targets)


def test_linked_pages_exist():
    links = re.findall(r"\]\(([^)#]+\.(?:md|svg|cff))\)", " ".join(README.split()))
    assert len(links) > 25
    assert [link for link in links if not (ROOT / link).exists()] == []
