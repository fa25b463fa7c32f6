"""A command line to call in-process, and a small model made by it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from multitudes.cli import TRACEBACK_VARIABLE, main
from multitudes.data import make_catalogue

TOPICS = {
    "belts": "leather buckle waist strap",
    "fruit": "apple pear juicy orchard",
    "planets": "orbit mercury moon crater",
    "fish": "bass river scales angler",
    "music": "guitar melody bass concert",
}


@dataclass(frozen=True)
class Result:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def cli(capfdbinary, monkeypatch) -> Iterator[Callable[..., Result]]:
    """Run ``multitudes ARGUMENTS`` in this process."""
    monkeypatch.setenv(TRACEBACK_VARIABLE, "")

    def run(*arguments: object) -> Result:
        capfdbinary.readouterr()
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        out, err = capfdbinary.readouterr()
        return Result(int(caught.value.code or 0), out.decode(), err.decode())

    return run


def write_lines(path: Path, records: list[dict]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def records(n: int) -> list[dict]:
    names = list(TOPICS)
    made = []
    for i in range(n):
        first, second = names[i % 5], names[(i * 7 + i // 5) % 5]
        words = TOPICS[first].split()[i % 3 :] + TOPICS[second].split()[: 1 + i % 2]
        made.append({"uid": f"u{i}", "text": " ".join(words), "labels": sorted({first, second})})
    return made


@pytest.fixture(scope="session")
def train_file(tmp_path_factory) -> Path:
    return write_lines(tmp_path_factory.mktemp("data") / "train.jsonl", records(120))


@pytest.fixture(scope="session")
def test_file(tmp_path_factory) -> Path:
    return write_lines(tmp_path_factory.mktemp("data") / "test.jsonl", records(150)[120:])


@pytest.fixture(scope="session")
def model(tmp_path_factory, train_file) -> Path:
    folder = tmp_path_factory.mktemp("models") / "model"
    with pytest.raises(SystemExit) as caught:
        main(["train", str(train_file), "-o", str(folder), "-m", "xr-linear", "-q"])
    assert not caught.value.code
    return folder


@pytest.fixture(scope="session")
def shop_file(tmp_path_factory) -> Path:
    """Catalogue lines with 300 labels: enough for a tree of several leaves."""
    shop = make_catalogue(3000, n_labels=300, random_state=1).dataset
    assert shop.texts is not None
    lines = [{"text": text, "labels": shop.labels_of(i)} for i, text in enumerate(shop.texts)]
    return write_lines(tmp_path_factory.mktemp("data") / "shop.jsonl", lines)


@pytest.fixture
def predictions(cli, model, test_file, tmp_path) -> Path:
    path = tmp_path / "predictions.jsonl"
    assert cli("predict", model, test_file, "-o", path, "-q").code == 0
    return path
