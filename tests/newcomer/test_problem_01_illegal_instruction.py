"""Problem 1: predicting with PRIME killed the process on a processor that lies about bfloat16."""

from __future__ import annotations

import pytest

from multitudes.deep import processor

from .running import QUICK_ENCODER, run, topical, write_lines

# What oneDNN did there, in the child process that tries it: torch is loaded, then the signal.
DIES = "print('loaded', flush=True); import os, signal; os.kill(os.getpid(), signal.SIGILL)"


@pytest.fixture
def lying_processor(monkeypatch, tmp_path):
    """A processor that claims bfloat16 and faults on it; no trial is remembered."""
    import torch

    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    monkeypatch.setattr(processor, "_TRIAL", DIES)
    monkeypatch.setattr(processor, "_known", {})
    monkeypatch.setattr(processor, "cache_folder", lambda: tmp_path)
    monkeypatch.setenv(processor.SETTING, "auto")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prime")
    data = write_lines(folder / "train.jsonl", topical(60))
    assert run("train", data, "-o", folder / "model", "-q", *QUICK_ENCODER).code == 0
    return folder / "model"


def test_prediction_falls_back_to_float32(model, lying_processor):
    found = run("predict", model, "--text", "juicy apple", "--device", "cpu")
    assert found.code == 0
    assert "fruit" in found.out
    exact = run("predict", model, "--text", "juicy apple", "--precision", "float32")
    assert found.out == exact.out


def test_asking_for_bfloat16_is_an_error_not_a_crash(model, lying_processor):
    found = run("predict", model, "--text", "juicy apple", "--precision", "bf16")
    assert found.code == 2
    assert "does not work on this CPU" in found.err
