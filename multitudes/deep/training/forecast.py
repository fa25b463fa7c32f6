"""Forecast: says after the first steps of a run how long it will take, and what would be faster."""

from __future__ import annotations

import time
from typing import Any

from multitudes.deep.devices import describe_device
from multitudes.deep.training.run import Run
from multitudes.progress import duration, say, spelled

SECONDS_MEASURED = 2.0
SECONDS_OF_SLOW_STEPS = 10.0
SHORT_SECONDS = 20.0  # what is not worth a word
LONG_SECONDS = 600.0  # what a person wants to be warned of


class Forecast:
    """Measures a run as it is checked, and says once how much longer it will take.

    What comes before the first check is left out, because a GPU compiles and allocates then; but
    not on a CPU if it took so long that waiting for more would keep the person waiting too.

    Parameters
    ----------
    run : Run
        As it begins, or is resumed.
    hint : str
        What else would make this model faster on a CPU.
    saved : bool
        Whether the run is saved now and then.
    """

    def __init__(self, run: Run[Any], *, hint: str = "", saved: bool = False) -> None:
        self.run, self.hint, self.saved = run, hint, saved
        self.is_told = False
        self._checks = [(time.monotonic(), self._n_done())]

    def check(self) -> None:
        """Take the time; to be called when the device has nothing left to do."""
        if self.is_told:
            return
        self._checks.append((time.monotonic(), self._n_done()))
        on_cpu = self.run.accelerator.device.type == "cpu"
        slow = on_cpu and self._checks[1][0] - self._checks[0][0] > SECONDS_OF_SLOW_STEPS
        first, last = self._checks[0 if slow else 1], self._checks[-1]
        seconds, n_batches = last[0] - first[0], last[1] - first[1]
        if n_batches > 0 and seconds >= SECONDS_MEASURED:
            self.is_told = True
            n_left = self.run.config.epochs * self.run.batches.per_epoch - last[1]
            self._tell(seconds / n_batches * n_left)

    def _n_done(self) -> int:
        position = self.run.position
        return position.epoch * self.run.batches.per_epoch + position.batch

    def _tell(self, seconds: float) -> None:
        if seconds < SHORT_SECONDS or not self.run.accelerator.is_main_process:
            return
        config, device = self.run.config, self.run.accelerator.device
        say(
            f"training will take about {duration(seconds)} on {describe_device(device)} "
            f"({config.epochs} epochs at most)"
        )
        if seconds >= LONG_SECONDS and device.type == "cpu":
            say(f"that is long: {'; '.join(self._advice(seconds))}", urgent=True)

    def _advice(self, seconds: float) -> list[str]:
        epochs = self.run.config.epochs
        fewer = max(1, int(epochs * LONG_SECONDS / seconds))
        advice = [f"a GPU is many times as fast ({spelled('device', 'cuda')})"]
        if fewer < epochs:
            shorter = duration(seconds * fewer / epochs)
            advice.append(f"{spelled('training.epochs', fewer)} would take {shorter}")
        advice += [self.hint] if self.hint else []
        advice.append(f"a linear model needs no GPU ({spelled('model', 'xr-linear')})")
        if not self.saved:
            folder = spelled("checkpoint", "FOLDER")
            advice.append(f"with {folder} it can be stopped, and goes on later")
        return advice
