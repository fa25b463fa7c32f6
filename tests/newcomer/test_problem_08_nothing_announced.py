"""Problem 8: what was read, the model and why, the device and the time came after training."""

from __future__ import annotations

import contextlib
import io

import pytest

from multitudes.tagger import Tagger, tagger

from .running import QUICK_ENCODER, TOPICS, run, topical, write_lines


@pytest.fixture
def data(tmp_path):
    return write_lines(tmp_path / "train.jsonl", topical(60))


@pytest.fixture
def never_trains(monkeypatch):
    """What is said from here on was said before training."""

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(tagger, "fit_model", stop)


def test_the_command_line_says_what_it_will_do_before_it_trains(data, tmp_path, never_trains):
    found = run("train", data, "-o", tmp_path / "model", "--threads", 2, "--budget", "none")
    assert found.code == 130
    lines = found.err.splitlines()
    assert "learning from 60 texts, 5 labels, 1.0 per text" in lines
    assert any(line.startswith("model: one-vs-all, because 5 labels and 60") for line in lines)
    assert "device: CPU, 2 threads" in lines


def test_python_says_the_same_with_verbose(never_trains):
    texts, labels = zip(*((row["text"], row["labels"]) for row in topical(20)), strict=True)
    for verbose in (False, True):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.suppress(KeyboardInterrupt):
            Tagger("xr-linear", verbose=verbose).fit(list(texts), list(labels))
        assert ("model: xr-linear, as asked for" in said.getvalue()) is verbose


def test_an_encoder_names_itself_its_device_and_its_epochs_first(data, tmp_path):
    found = run("train", data, "-o", tmp_path / "model", *QUICK_ENCODER)
    assert found.code == 0
    lines = found.err.splitlines()
    encoder = next(i for i, line in enumerate(lines) if line.startswith("encoder: scratch, "))
    training = lines.index("training on this CPU (1 thread): 4 epochs of 60 instances")
    done = next(i for i, line in enumerate(lines) if line.startswith("trained in "))
    assert encoder < training < done
    assert lines[encoder].endswith(" weights")
    assert lines[encoder + 1].startswith("texts of up to 12 tokens, labels of up to ")


def test_quiet_is_quiet(data, tmp_path):
    found = run("train", data, "-o", tmp_path / "model", "-q")
    assert (found.code, found.err) == (0, "")
    assert set(Tagger.load(tmp_path / "model").classes_) == set(TOPICS)
