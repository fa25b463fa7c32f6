"""``python -m campaigns.kills``: kill, stop and refuse commands at random points."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import resource
import sys
import time
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from campaigns.framework import Campaign, Case, Outcome, main
from campaigns.kills.commands import BASE, COMMANDS, digests, leftovers, settle
from campaigns.kills.corpus import write_base
from campaigns.kills.faulty_disk import CountingDisk, RefusingDisk, SignallingDisk
from campaigns.kills.judging import Broken, Known, check
from campaigns.kills.processes import SIGNALS, Disturbance, Ended, forked, started
from campaigns.kills.small_disk import mounted

ERRORS = {
    "full": errno.ENOSPC,
    "quota": errno.EDQUOT,
    "read-only": errno.EROFS,
    "io": errno.EIO,
}
LIMITS = {
    "memory": resource.RLIMIT_AS,
    "filesize": resource.RLIMIT_FSIZE,
    "files": resource.RLIMIT_NOFILE,
}
# How often each is drawn.
MEANS = {
    "kill": 40, "term": 12, "int": 12, "hup": 3,
    "full": 10, "quota": 3, "read-only": 4, "io": 6,
    "memory": 3, "filesize": 4, "files": 3, "tmpfs": 5,
}  # fmt: skip
MOST_SPARE = 200_000  # bytes of a small disk that are free at most: about what the commands write
IN_A_NEW_PROCESS = 0.03  # share of cases: starting Python takes seconds
BY_TIME = 0.25  # share of the signals that come at a random time, not at a call of the disk
KNOWN = "known.json"


class Kills(Campaign):
    """Commands disturbed at any point lose nothing, and the next run leaves nothing."""

    name = "kills"
    targets = tuple(COMMANDS)
    time_limit = 60.0
    address_space = None
    pinned = False
    batch = 20
    reducible = False
    default_cases = 1_000

    def prepare(self, folder: Path) -> None:
        """Write data and models, and note what each command does when it is left alone."""
        write_base(folder / BASE)
        known = {name: asdict(_undisturbed(name, folder)) for name in COMMANDS}
        (folder / KNOWN).write_text(json.dumps(known))

    def enter(self, folder: Path) -> None:
        """Run every command once, so that forked children have all imported and compiled."""
        self.base = (folder / BASE).resolve()
        content = json.loads((folder / KNOWN).read_text())
        self.known = {name: Known(**entry) for name, entry in content.items()}
        for command in COMMANDS.values():
            place = Path("warm").resolve()
            settle(command, self.base, place)
            _run_here(command.arguments, place)

    def draw(self, rng: random.Random, target: str) -> Case:
        """Choose what happens, and when."""
        means = rng.choices(list(MEANS), list(MEANS.values()))[0]
        by_time = means in SIGNALS and rng.random() < BY_TIME
        plan = {"means": means, "at": rng.random(), "by_time": by_time, "process": False}
        if means in SIGNALS and rng.random() < IN_A_NEW_PROCESS:
            plan |= {"by_time": True, "process": True}
        return Case(target, json.dumps(plan).encode())

    def describe(self, case: Case) -> str:
        """Return the command and what happens to it."""
        return f"multitudes {' '.join(COMMANDS[case.target].arguments)}: {case.content.decode()}"

    def run(self, case: Case) -> Outcome | None:
        """Disturb a command; look at what is there; run it again."""
        command, known = COMMANDS[case.target], self.known[case.target]
        plan = json.loads(case.content)
        place = Path("case").resolve()
        with mounted(place) if plan["means"] == "tmpfs" else nullcontext() as small:
            settle(command, self.base, place)
            if small is None:
                ended = disturbed(command.arguments, place, known, plan)
            else:
                small.leave(int(plan["at"] ** 2 * MOST_SPARE))
                ended = forked(command.arguments, place)
                small.clear_space()
            try:
                check(command, known, place, plan["means"], ended)
            except Broken as broken:
                return broken.outcome
        return None


def disturbed(arguments: tuple[str, ...], place: Path, known: Known, plan: dict[str, Any]) -> Ended:
    """Run a command, and do to it what the plan says."""
    means, at = plan["means"], plan["at"]
    point = int(at * len(known.calls))
    if plan["by_time"]:
        seconds = known.seconds * 1.2
        if plan["process"]:
            return started(arguments, place, Disturbance(SIGNALS[means], at * (seconds + 4)))
        return forked(arguments, place, how=Disturbance(SIGNALS[means], at * seconds))
    if means in SIGNALS:
        return forked(arguments, place, SignallingDisk(point, SIGNALS[means]))
    if means in ERRORS:
        return forked(arguments, place, RefusingDisk(point, ERRORS[means]))
    most = {"memory": int(at**2 * 2**28), "filesize": int(at**3 * 50_000), "files": int(at * 12)}
    return forked(arguments, place, how=Disturbance(limits={LIMITS[means]: most[means]}))


def _undisturbed(name: str, folder: Path) -> Known:
    """Run a command twice, alone, and note what it leaves, which calls it makes, and its time."""
    command, place = COMMANDS[name], folder / "alone"
    found = []
    for _ in range(2):
        settle(command, (folder / BASE).resolve(), place)
        old = digests(command, place)
        disk = CountingDisk()
        begun = time.monotonic()
        _run_here(command.arguments, place, disk)
        seconds = time.monotonic() - begun
        found.append(digests(command, place))
    if found[0] != found[1]:
        raise SystemExit(f"{name} does not give the same result twice: {found}")
    if leftovers(command, place):
        raise SystemExit(f"{name} leaves {leftovers(command, place)}")
    return Known(old, found[0], disk.calls, seconds)


def _run_here(arguments: tuple[str, ...], place: Path, disk: CountingDisk | None = None) -> None:
    """Run a command in this process; it must succeed."""
    from multitudes.cli import main as run
    from multitudes.files.disk import on

    with (
        contextlib.chdir(place),
        Path(os.devnull).open("w") as nothing,
        contextlib.redirect_stdout(nothing),
        on(CountingDisk() if disk is None else disk),
    ):
        try:
            run(list(arguments))
        except SystemExit as end:
            if end.code:
                raise SystemExit(f"multitudes {' '.join(arguments)} failed: {end.code}") from end


if __name__ == "__main__":
    sys.exit(main(Kills()))
