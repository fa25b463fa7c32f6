"""A keeper forks children that run cases, and finds out what became of them."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import re
import select
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from campaigns.framework.campaign import Campaign, Case
from campaigns.framework.child import IDLE, Board, Runner, drawn, leave, limit, tell, work
from campaigns.framework.outcomes import ALLOWED, CRASH, HANG, Outcome

GLANCE = 0.25
"""Seconds between two looks at a child that says nothing."""


@dataclass(frozen=True)
class Failure:
    """A case that broke the promise."""

    number: int
    case: Case
    outcome: Outcome


@dataclass
class BatchResult:
    """What came of a batch."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    slowest: dict[str, float] = field(default_factory=dict)
    peak: int = 0
    n_run: int = 0


@dataclass(frozen=True)
class Plan:
    """What all batches of a run have in common."""

    seed: int
    targets: Sequence[str]
    deadline: float | None = None


def run_batch(campaign: Campaign, plan: Plan, numbers: Sequence[int]) -> BatchResult:
    """Run the cases with these numbers, in as many children as it takes."""
    result = BatchResult()
    board = Board(len(numbers))
    position = 0
    while position < len(numbers):
        if plan.deadline is not None and time.monotonic() > plan.deadline:
            break
        position = _one_child(campaign, plan, numbers, position, board, result)
    for place in range(len(numbers)):
        ended = board.ended(place)
        if ended is None:
            break
        result.counts[plan.targets[ended[0]], ended[1]] += 1
        result.n_run += 1
    board.close()
    return result


def _one_child(
    campaign: Campaign,
    plan: Plan,
    numbers: Sequence[int],
    skip: int,
    board: Board,
    result: BatchResult,
) -> int:
    """Run cases from position `skip` on in one child; return the position to go on with."""
    board.begin(IDLE)

    def body(pipe: int) -> None:
        work(
            campaign,
            seed=plan.seed,
            numbers=numbers,
            skip=skip,
            targets=plan.targets,
            board=board,
            pipe=pipe,
            deadline=plan.deadline,
        )

    late: list[int] = []
    messages, end = Child(body).watch(lambda: _overdue(board, campaign.time_limit, late))
    for message in messages:
        _take(campaign, plan, message, result)
    if end is not None:
        position = late[0] if late else board.running()[0]
        if position == IDLE:
            raise RuntimeError(f"a worker ended outside of any case: {end.detail}")
        case = drawn(campaign, plan.seed, numbers[position], plan.targets)
        # A machine with other work may let a case wait: a hang is one if it is seen twice.
        again = run_alone(campaign, case) if end.kind == HANG else end
        board.note(position, plan.targets.index(case.target), again.kind)
        if again.kind not in ALLOWED:
            outcome = Outcome(
                again.kind, again.detail, f"{again.signature} {case.target}", again.trace
            )
            result.failures.append(Failure(numbers[position], case, outcome))
    done = skip
    while done < len(numbers) and board.ended(done) is not None:
        done += 1
    return done if done > skip else len(numbers)


def _overdue(board: Board, seconds: float, late: list[int]) -> bool:
    """Whether the case that runs is over its time; which one it was is kept in `late`."""
    position, since = board.running()
    if position != IDLE and time.monotonic() - since > seconds:
        late.append(position)
    return bool(late)


def _take(campaign: Campaign, plan: Plan, message: dict[str, Any], result: BatchResult) -> None:
    """Enter one message of a child into the result."""
    if "slowest" in message:
        for target, seconds in message["slowest"].items():
            result.slowest[target] = max(result.slowest.get(target, 0.0), seconds)
        result.peak = max(result.peak, message["peak"])
        return
    number = message.pop("number")
    outcome = Outcome(**message)
    if outcome.kind not in ALLOWED:
        case = drawn(campaign, plan.seed, number, plan.targets)
        result.failures.append(Failure(number, case, outcome))


def run_alone(campaign: Campaign, case: Case, *, time_limit: float | None = None) -> Outcome:
    """Run one case in a child of its own."""
    seconds = campaign.time_limit if time_limit is None else time_limit

    def body(pipe: int) -> None:
        limit(campaign)
        tell(pipe, vars(Runner(campaign).run(case)))

    begun = time.monotonic()
    messages, end = Child(body).watch(lambda: time.monotonic() - begun > seconds)
    if messages:
        return Outcome(**messages[0])
    if end is None:
        raise RuntimeError("a child ended without a word")
    return Outcome(end.kind, end.detail, f"{end.signature} {case.target}", end.trace)


class Child:
    """A forked process that runs `body(pipe)`."""

    def __init__(self, body: Callable[[int], None]) -> None:
        reading, writing = os.pipe()
        self.trace = os.memfd_create("trace")
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            status = 0
            try:
                faulthandler.enable(self.trace, all_threads=False)
                faulthandler.register(signal.SIGUSR1, self.trace, all_threads=True)
                body(writing)
            except BaseException:  # noqa: BLE001 - it ends here whatever it was
                tell(writing, {"broken": traceback.format_exc()})
                status = 1
            leave(status)
        os.close(writing)
        self.pipe = reading

    def watch(self, overdue: Callable[[], bool]) -> tuple[list[dict[str, Any]], Outcome | None]:
        """Wait for the end; return the messages, and an outcome if the end was not a good one."""
        buffer = bytearray()
        hung = False
        while True:
            ready, _, _ = select.select([self.pipe], [], [], GLANCE)
            if ready:
                piece = os.read(self.pipe, 1 << 16)
                if not piece:
                    break
                buffer += piece
            if not hung and overdue():
                hung = True
                self._kill()
        os.close(self.pipe)
        status = self._ended(overdue)
        os.lseek(self.trace, 0, os.SEEK_SET)
        trace = os.read(self.trace, 6000).decode(errors="replace")
        os.close(self.trace)
        messages = [json.loads(line) for line in buffer.split(b"\n")[:-1]]
        broken = [message["broken"] for message in messages if "broken" in message]
        if broken:
            raise RuntimeError(f"the campaign itself failed:\n{broken[0]}")
        return messages, _end(status, hung, trace)

    def _ended(self, overdue: Callable[[], bool]) -> int:
        """The status of the process; it may go on after it has closed its pipe."""
        while True:
            if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                # Its number is its own until it is waited for: this ends what it left behind.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, signal.SIGKILL)
                return os.waitpid(self.pid, 0)[1]
            if overdue():
                self._kill()
            time.sleep(0.001)

    def _kill(self) -> None:
        """Let the process say where it is, then end it and all that it started."""
        for number, kill in ((signal.SIGUSR1, os.kill), (signal.SIGKILL, os.killpg)):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(self.pid, number)
            time.sleep(0.2)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def _end(status: int, hung: bool, trace: str) -> Outcome | None:
    if hung:
        return Outcome(HANG, "still running at the time limit", f"hang {_place(trace)}", trace)
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return Outcome(CRASH, f"ended by {name}", f"{name} {_place(trace)}", trace)
    if os.WEXITSTATUS(status):
        return Outcome(CRASH, f"exit status {os.WEXITSTATUS(status)}", "exit", trace)
    return None


def _place(trace: str) -> str:
    """The innermost line of ours in a trace of faulthandler."""
    found = re.search(r'/(multitudes/\S+)", line \d+ in (\w+)', trace)
    return f"{found[1]}:{found[2]}" if found else ""
