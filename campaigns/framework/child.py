"""The process in which cases run: it may crash, hang or take memory, and nothing is lost by it."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import logging
import mmap
import os
import random
import resource
import signal
import struct
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict

from campaigns.framework.campaign import Campaign, Case
from campaigns.framework.outcomes import ANSWERED, MEMORY, OUTCOMES, Outcome, outcome_of

HEADER = struct.Struct("<qd")
"""At the head of the board: the case that runs, and when it began."""
IDLE = -1


class Board:
    """Memory that a child shares with its keeper: what runs now, and what came of each case.

    It is written before a case runs, so that whatever ends the child is attributed to the case.
    """

    def __init__(self, n_cases: int) -> None:
        self.memory = mmap.mmap(-1, HEADER.size + 3 * n_cases)
        self.n_cases = n_cases
        self.begin(IDLE)

    def begin(self, position: int) -> None:
        """Note that a case of the batch begins now."""
        HEADER.pack_into(self.memory, 0, position, time.monotonic())

    def running(self) -> tuple[int, float]:
        """Return the position of the case that runs (or `IDLE`), and since when."""
        position, since = HEADER.unpack_from(self.memory, 0)
        return int(position), float(since)

    def note(self, position: int, target: int, kind: str) -> None:
        """Note how a case ended."""
        at = HEADER.size + 3 * position
        self.memory[at : at + 3] = struct.pack("<HB", target, OUTCOMES.index(kind) + 1)

    def ended(self, position: int) -> tuple[int, str] | None:
        """Return target and outcome of a case, or None if it has not run."""
        target, kind = struct.unpack_from("<HB", self.memory, HEADER.size + 3 * position)
        return (int(target), OUTCOMES[kind - 1]) if kind else None

    def close(self) -> None:
        """Give the memory back."""
        self.memory.close()


def drawn(campaign: Campaign, seed: int, number: int, targets: Sequence[str]) -> Case:
    """Return case `number` of a seed: always the same."""
    rng = random.Random((seed << 64) | number)
    if campaign.weights is None:
        target = targets[rng.randrange(len(targets))]
    else:
        known = dict(zip(campaign.targets, campaign.weights, strict=True))
        target = rng.choices(targets, [known[name] for name in targets])[0]
    return campaign.draw(rng, target)


def limit(campaign: Campaign) -> None:
    """Set the limits of a child; its process group is its own, so that all of it can be killed."""
    os.setpgid(0, 0)
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if campaign.address_space is not None:
        bytes_now = int(_proc("/proc/self/statm").split()[0]) * mmap.PAGESIZE
        most = bytes_now + campaign.address_space
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _proc(path: str) -> str:
    with open(path, encoding="ascii") as file:  # noqa: PTH123 - pathlib is slow to import here
        return file.read()


def peak() -> int:
    """Return the most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Runner:
    """Runs cases in a child and judges their memory.

    The peak of a process only rises: it tells the memory of the case that raised it. A case over
    the bound therefore has to be the last one of its child.
    """

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.first_peak = peak()

    def run(self, case: Case) -> Outcome:
        """Return how a case ended, if it ends."""
        reason = self.campaign.unavailable().get(case.target)
        if reason is not None:
            return Outcome("skipped", reason)
        before = peak()
        outcome = self._judged(case)
        after = peak()
        taken = after - self.first_peak
        if taken > self.campaign.memory_bound and after > before and outcome.kind != MEMORY:
            shown = f"{taken / 2**20:,.0f} MB, then {outcome.kind} {outcome.detail}"
            return Outcome(MEMORY, shown, f"peak {case.target}", outcome.trace)
        return outcome

    def _judged(self, case: Case) -> Outcome:
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                outcome = self.campaign.run(case)
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 - any outcome
            return outcome_of(error)
        return outcome if isinstance(outcome, Outcome) else Outcome(ANSWERED)


def work(
    campaign: Campaign,
    *,
    seed: int,
    numbers: Sequence[int],
    skip: int,
    targets: Sequence[str],
    board: Board,
    pipe: int,
    deadline: float | None,
) -> None:
    """Run the cases of a batch from position `skip` on; write the ones that fail to `pipe`."""
    limit(campaign)
    runner = Runner(campaign)
    places = {target: place for place, target in enumerate(targets)}
    slowest: dict[str, float] = {}
    for position in range(skip, len(numbers)):
        if deadline is not None and time.monotonic() > deadline:
            break
        board.begin(position)
        case = drawn(campaign, seed, numbers[position], targets)
        begun = time.monotonic()
        outcome = runner.run(case)
        taken = time.monotonic() - begun
        slowest[case.target] = max(slowest.get(case.target, 0.0), taken)
        board.note(position, places[case.target], outcome.kind)
        if outcome.trace or outcome.signature:
            tell(pipe, {"number": numbers[position], **asdict(outcome)})
        if outcome.kind == MEMORY:
            break
    board.begin(IDLE)
    tell(pipe, {"slowest": slowest, "peak": peak() - runner.first_peak})


def tell(pipe: int, message: dict[str, object]) -> None:
    """Write one message as one line."""
    line = json.dumps(message).encode() + b"\n"
    while line:
        line = line[os.write(pipe, line) :]


def leave(status: int) -> None:
    """End a forked child at once, without what its parent has registered for its own end."""
    with contextlib.suppress(Exception):
        sys.stderr.flush()
    gc.disable()
    os._exit(status)
