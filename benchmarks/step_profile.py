"""Where a GPU's time goes in a few training steps of a benchmark, kernel by kernel.

    python -m benchmarks.step_profile prime --data FOLDER --contestants prime-lite
    python -m benchmarks.step_profile --skip 30 seq2set --data FOLDER --contestants otseq2set

Takes the arguments of the benchmark it is given, trains until some steps are recorded, prints them
and ends. Recording slows the host down, so compare shares of the device's time, and take the
milliseconds of a step from the run before it: they are measured without.
"""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.report import show

NAMES = ("prime", "seq2set")
LONGEST_NAME = 90


class Recorder:
    """Watches the optimizer's steps: skips some, times some, records some, then ends the program.

    Parameters
    ----------
    skip, n_steps : int
        Steps to let pass; steps to time, and as many to record after them.
    rows : int
        Kernels to show.
    """

    def __init__(self, skip: int, n_steps: int, rows: int) -> None:
        self.skip, self.n_steps, self.rows = skip, n_steps, rows
        self.n_done = 0
        self.start = 0.0
        self.milliseconds = 0.0
        self.profile: Any = None

    def after_step(self) -> None:
        """To be called after each step."""
        self.n_done += 1
        if self.n_done == self.skip:
            wait()
            self.start = time.perf_counter()
        elif self.n_done == self.skip + self.n_steps:
            wait()
            self.milliseconds = 1e3 * (time.perf_counter() - self.start) / self.n_steps
            self.profile = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
            self.profile.start()
        elif self.n_done == self.skip + 2 * self.n_steps:
            wait()
            self.profile.stop()
            self.report()
            raise SystemExit(0)

    def report(self) -> None:
        """Print what was recorded, per step."""
        events = self.profile.key_averages()
        on_device = [e for e in events if str(e.device_type).endswith("CUDA")]
        busy = sum(e.self_device_time_total for e in on_device) / 1e3 / self.n_steps
        print(f"{self.milliseconds:.1f} ms a step, the device busy for {busy:.1f} of them")
        rank(f"on the device, {len(on_device)} kernels", on_device, "self_device_time_total", self)
        on_host = [e for e in events if e not in on_device]
        rank("on the host", on_host, "self_cpu_time_total", self)
        sys.stdout.flush()


def rank(title: str, events: list[Any], time_of: str, recorder: Recorder) -> None:
    """The events that take most, per step."""
    ordered = sorted(events, key=lambda event: -getattr(event, time_of))[: recorder.rows]
    rows = [
        [
            event.key[:LONGEST_NAME],
            f"{getattr(event, time_of) / 1e3 / recorder.n_steps:.2f}",
            f"{event.count / recorder.n_steps:.1f}",
        ]
        for event in ordered
    ]
    show(title, ["", "ms", "times"], rows)


def wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--skip", type=int, default=20)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--rows", type=int, default=30)
    parser.add_argument("benchmark", choices=NAMES)
    given, rest = parser.parse_known_args()
    recorder = Recorder(given.skip, given.steps, given.rows)
    plain = torch.optim.AdamW.step

    def step(self: Any, *arguments: Any, **named: Any) -> Any:
        result = plain(self, *arguments, **named)
        recorder.after_step()
        return result

    torch.optim.AdamW.step = step  # type: ignore[method-assign]
    sys.argv = [f"benchmarks.{given.benchmark}", *rest]
    import_module(f"benchmarks.{given.benchmark}.__main__").main()
    raise SystemExit(f"training ended before {given.skip + 2 * given.steps} steps: lower --skip")


if __name__ == "__main__":
    main()
