"""How long a training takes is said early, once, and with advice if it is long on a CPU."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from multitudes import progress
from multitudes.deep.training import Outlook, forecast, trial_seconds
from multitudes.deep.training.forecast import Forecast

from .problems import Problem


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still; tests move it."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(forecast, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


@pytest.fixture
def said(monkeypatch):
    sentences = []
    monkeypatch.setattr(forecast, "is_shown", lambda: True)
    monkeypatch.setattr(forecast, "say", lambda text, urgent=False: sentences.append(text))
    return sentences


def run_of(epochs=20, device="cpu"):
    accelerator = SimpleNamespace(device=torch.device(device), is_main_process=True)
    config = SimpleNamespace(epochs=epochs)
    return SimpleNamespace(accelerator=accelerator, config=config, n_epochs_done=0.0)


def pass_time(clock, run, watched, seconds, epochs):
    clock.now += seconds
    run.n_epochs_done += epochs
    watched.check()


def test_the_first_steps_are_left_out_and_the_next_ones_measured(clock, said):
    run = run_of()
    watched = Forecast(run, Outlook(), saved=True)
    pass_time(clock, run, watched, seconds=5, epochs=0.1)  # compiling, allocating
    assert said == []
    pass_time(clock, run, watched, seconds=1, epochs=0.1)
    assert said == []  # too short to go by
    pass_time(clock, run, watched, seconds=1, epochs=0.1)
    assert said == [f"training takes about 3 min on this CPU ({threads()})"]
    pass_time(clock, run, watched, seconds=900, epochs=0.1)
    assert len(said) == 1


def threads():
    n = torch.get_num_threads()
    return f"{n} thread" if n == 1 else f"{n} threads"


def test_steps_that_take_minutes_are_told_after_the_first(clock, said):
    run = run_of()
    watched = Forecast(run, Outlook(hint="try prime-lite"), saved=False)
    pass_time(clock, run, watched, seconds=72, epochs=1)
    assert said[0].startswith("training takes about 23 min on this CPU")
    assert said[1] == (
        "that is long: a GPU is many times as fast (device='cuda'); training.epochs=8 would take "
        "9 min; try prime-lite; a linear model needs no GPU (model='xr-linear'); with "
        "checkpoint='FOLDER' it can be stopped, and goes on later"
    )


def test_on_a_gpu_nothing_is_advised(clock, said, monkeypatch):
    monkeypatch.setattr(forecast, "describe_device", lambda device: "the GPU (H200)")
    run = run_of(device="cuda")
    watched = Forecast(run, Outlook(epoch_seconds=lambda: 1 / 0), saved=False)
    watched.try_out()
    for _ in range(4):  # compiling and allocating
        pass_time(clock, run, watched, seconds=4, epochs=0.001)
    for epochs in (0.01, 0.02, 0.04):  # less and less
        pass_time(clock, run, watched, seconds=60, epochs=epochs)
    assert said == []
    pass_time(clock, run, watched, seconds=60, epochs=0.05)
    assert said == ["training takes about 6 h 38 min on the GPU (H200)"]


def test_a_trial_comes_first_and_is_corrected_only_if_it_was_wrong(clock, said):
    for measured, corrected in ((40, False), (5, True)):
        said.clear()
        run = run_of()
        watched = Forecast(run, Outlook(epoch_seconds=lambda: 36.0), saved=True)
        watched.try_out()
        assert said[0].startswith("training takes about 12 min")
        assert said[1].startswith("that is long: ")
        pass_time(clock, run, watched, seconds=1, epochs=0.1)
        pass_time(clock, run, watched, seconds=measured, epochs=1.0)
        assert [text.startswith("as the first steps show") for text in said[2:]] == (
            [True] if corrected else []
        )


def test_short_trainings_and_those_nobody_watches_say_nothing(clock, said, monkeypatch):
    run = run_of(epochs=2)
    watched = Forecast(run, Outlook(epoch_seconds=lambda: 3.0), saved=True)
    watched.try_out()
    pass_time(clock, run, watched, seconds=3, epochs=0.5)
    pass_time(clock, run, watched, seconds=3, epochs=0.5)
    monkeypatch.setattr(forecast, "is_shown", lambda: False)
    unseen = Forecast(run_of(), Outlook(epoch_seconds=lambda: 1 / 0), saved=True)
    unseen.try_out()
    assert said == []


def test_a_trial_leaves_no_trace():
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).eval()
    before = torch.random.get_rng_state()
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    assert trial_seconds(model, lambda: model(torch.ones(2, 4)).sum()) > 0
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())
    assert [parameter.grad for parameter in model.parameters()] == [None, None]
    assert not model.training


def test_a_run_that_is_watched_learns_the_same(capfd):
    watched, alone = Problem(), Problem()
    alone.train()
    with progress.shown():
        watched.train()
    pairs = zip(watched.model.parameters(), alone.model.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)
    assert "training on this CPU" in capfd.readouterr().err
