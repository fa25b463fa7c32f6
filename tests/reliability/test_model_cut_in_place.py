"""A model in memory goes on when its files are cut or overwritten in place (defect of mapping)."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from multitudes import Tagger, XRLinear, load
from multitudes.errors import StoreError
from tests.golden.make import CURRENT, QUESTIONS, outputs
from tests.store.forging import data_of

MAPS = Path("/proc/self/maps")


@pytest.fixture(params=["tagger", "prime", "xr-linear"])
def copy(request, tmp_path):
    if request.param == "prime":
        pytest.importorskip("transformers")
    shutil.copytree(CURRENT / request.param / "model", tmp_path / "model")
    return tmp_path / "model"


def cut(model: Path) -> None:
    for path in data_of(model).rglob("*"):
        if path.is_file():
            with path.open("r+b") as file:
                file.truncate(0)


@pytest.mark.skipif(not MAPS.exists(), reason="needs /proc")
def test_a_model_in_memory_does_not_need_its_files(copy):
    model = load(copy, in_memory=True)
    assert str(copy) not in MAPS.read_text(), "or the next lines would end this process"
    inputs = np.ones((2, 8), np.float32) if isinstance(model, XRLinear) else QUESTIONS
    before = outputs(model, inputs)
    cut(copy)
    assert outputs(model, inputs) == before


def test_an_explanation_reads_no_file(tmp_path):
    shutil.copytree(CURRENT / "tagger" / "model", tmp_path / "model")
    tagger = Tagger.load(tmp_path / "model", in_memory=True)
    before = str(tagger.explain(QUESTIONS[0], tagger.classes_[0]))
    cut(tmp_path / "model")
    assert str(tagger.explain(QUESTIONS[0], tagger.classes_[0])) == before


def test_a_model_cut_before_it_is_loaded_again_is_an_error(tmp_path):
    shutil.copytree(CURRENT / "tagger" / "model", tmp_path / "model")
    load(tmp_path / "model")
    cut(tmp_path / "model")
    for options in ({}, {"in_memory": True}, {"verify": True}):
        with pytest.raises(StoreError, match="it has 0 bytes, the manifest says"):
            load(tmp_path / "model", **options)
