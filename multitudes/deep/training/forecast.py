"""Forecast: how long a training will take, and what would be faster, said before it is long.

On a CPU the first step of a large batch may take minutes, so a model can bring a short trial, which
gives a first answer; the first steps give a better one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from multitudes.deep.devices import describe_device
from multitudes.deep.training.run import Run
from multitudes.progress import duration, is_shown, say, spelled

SECONDS_BETWEEN = 1.0  # two times that are compared
SECONDS_MEASURED = 2.0
SECONDS_OF_SLOW_STEPS = 10.0
SECONDS_OF_WARMING_UP = 20.0  # of a GPU, which compiles and allocates for each new shape
SHORT_SECONDS = 20.0  # what is not worth a word
LONG_SECONDS = 600.0  # what a person wants to be warned of
OTHERWISE = 1.5  # times as long or short as was said: worth another word


@dataclass(frozen=True)
class Outlook:
    """What a model knows about the time of its training before it begins.

    Parameters
    ----------
    hint : str
        What would make this model faster on a CPU, beside fewer epochs.
    epoch_seconds : function -> float, optional
        Estimates the time of an epoch by a short trial; asked on a CPU alone. It must leave no
        trace in the model, not even in the random states.
    """

    hint: str = ""
    epoch_seconds: Callable[[], float] | None = None


class Forecast:
    """Measures a run as it is checked, and says how much longer it will take.

    The first steps are left out where others follow soon.

    Parameters
    ----------
    run : Run
        As it begins, or is resumed.
    outlook : Outlook
    saved : bool
        Whether the run is saved now and then.
    """

    def __init__(self, run: Run[Any], outlook: Outlook, *, saved: bool) -> None:
        self.run, self.outlook, self.saved = run, outlook, saved
        self.is_over = not (is_shown() and run.accelerator.is_main_process)
        self.said: float | None = None  # seconds of an epoch
        self._checks = [(time.monotonic(), run.n_epochs_done)]

    def try_out(self) -> None:
        """Say what a short trial gives, if this is a CPU and the model brings one."""
        if not self.is_over and self._on_cpu and self.outlook.epoch_seconds is not None:
            self._tell(self.outlook.epoch_seconds())
            self._checks = [(time.monotonic(), self.run.n_epochs_done)]

    def check(self) -> None:
        """Take the time; to be called when the device has nothing left to do."""
        if self.is_over:
            return
        now, (began, _) = time.monotonic(), self._checks[0]
        warms_up = not self._on_cpu and now - began < SECONDS_OF_WARMING_UP
        if warms_up or now - self._checks[-1][0] < SECONDS_BETWEEN:
            return
        self._checks.append((now, self.run.n_epochs_done))
        found = self._measured_on_cpu() if self._on_cpu else self._measured_on_gpu()
        if found is not None:
            self.is_over = True
            self._tell(found)

    def _measured_on_cpu(self) -> float | None:
        """Return the seconds of an epoch, without the first steps unless they are slow."""
        slow = self._checks[1][0] - self._checks[0][0] > SECONDS_OF_SLOW_STEPS
        first, last = self._checks[0 if slow else 1], self._checks[-1]
        return _pace(first, last) if last[0] - first[0] >= SECONDS_MEASURED else None

    def _measured_on_gpu(self) -> float | None:
        """Return the seconds of an epoch when they have settled."""
        if len(self._checks) < 4:
            return None
        older, old, new = self._checks[-3:]
        before, now = _pace(older, old), _pace(old, new)
        return now if before and now and _alike(before, now) else None

    @property
    def _on_cpu(self) -> bool:
        return bool(self.run.accelerator.device.type == "cpu")

    def _tell(self, epoch_seconds: float) -> None:
        """Say how long it takes, with advice if that is long; not twice nearly the same."""
        seconds = epoch_seconds * (self.run.config.epochs - self.run.n_epochs_done)
        known = self.said is not None
        if self.said is not None and _alike(self.said, epoch_seconds):
            return
        if seconds < SHORT_SECONDS and not known:
            return
        self.said = epoch_seconds
        where = describe_device(self.run.accelerator.device)
        measured = "as the first steps show, " if known else ""
        say(f"{measured}training takes about {duration(seconds)} on {where}")
        if seconds >= LONG_SECONDS and self._on_cpu and not known:
            say(f"that is long: {'; '.join(self._advice(seconds))}", urgent=True)

    def _advice(self, seconds: float) -> list[str]:
        epochs = self.run.config.epochs
        fewer = max(1, int(epochs * LONG_SECONDS / seconds))
        advice = [f"a GPU is many times as fast ({spelled('device', 'cuda')})"]
        if fewer < epochs:
            shorter = duration(seconds * fewer / epochs)
            advice.append(f"{spelled('training.epochs', fewer)} would take {shorter}")
        advice += [self.outlook.hint] if self.outlook.hint else []
        advice.append(f"a linear model needs no GPU ({spelled('model', 'xr-linear')})")
        if not self.saved:
            folder = spelled("checkpoint", "FOLDER")
            advice.append(f"with {folder} it can be stopped, and goes on later")
        return advice


def _pace(first: tuple[float, float], last: tuple[float, float]) -> float | None:
    """Return the seconds of an epoch between two checks; None if nothing was done."""
    n_epochs = last[1] - first[1]
    return (last[0] - first[0]) / n_epochs if n_epochs > 0 else None


def _alike(one: float, other: float) -> bool:
    return max(one, other) < OTHERWISE * max(min(one, other), 1e-9)


def trial_seconds(model: nn.Module, loss: Callable[[], torch.Tensor]) -> float:
    """Return the time of a forward and a backward pass, of which the model keeps nothing."""
    was_training = model.training
    model.train()
    with torch.random.fork_rng(devices=[]):
        started = time.monotonic()
        loss().backward()  # type: ignore[no-untyped-call]
        seconds = time.monotonic() - started
    model.zero_grad(set_to_none=True)
    model.train(was_training)
    return seconds
